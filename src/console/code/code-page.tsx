import type { ComponentType } from "preact";
import { RequestRefused } from "../../api/client.ts";
import {
  type CodeContext,
  type CodeKindInfo,
  languageName,
  libraries,
} from "../code-kinds/code-kind.ts";
import { DeleteButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import {
  Badge,
  EmptyState,
  Panel,
  ScreenHeader,
  SkeletonLine,
  Tabs,
} from "../components/layout.tsx";
import { ActionMenu } from "../components/menu.tsx";
import { loadPart } from "../data/load-part.ts";
import { reloadIfChanged } from "../data/save.ts";
import { missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { MetricCharts } from "../metrics/metric-charts.tsx";
import { hrefTo, navigate } from "../router.ts";
import { codeLogTexts, codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { metricTexts } from "../texts/metrics.ts";
import { CodeStateBadge, listSuspensions } from "./code-list.tsx";
import { discardText, textName } from "./editing/unsaved-text.ts";
import { CodeLogs, DestinationLinks } from "./tabs.tsx";

/** Milliseconds between two requests that ask whether the live revision is suspended. */
const POLL_MS = 10_000;

/** Screen of a transformation or library, with its code, revisions and any linked destinations. */
export function CodePage(props: { kind: CodeKindInfo; id: string; query: URLSearchParams }) {
  const { kind, id, query } = props;
  const tab = query.get("tab") ?? "code";
  const line = Number(query.get("line") ?? Number.NaN);
  const { value, error, reload } = useResource(() => loadCode(kind, id), [kind.screen, id]);
  if (value === undefined) {
    return (
      <>
        <ScreenHeader title={kind.heading} parent={parentOf(kind)} />
        {error === undefined ? (
          <Panel>
            <SkeletonLine />
          </Panel>
        ) : (
          <ErrorNotice error={error} retry={reload} />
        )}
      </>
    );
  }
  if (value.newest === undefined) {
    return (
      <EmptyState
        icon="search"
        title={codeTexts.notFound(kind.singular)}
        text={codeTexts.notFoundHint}
        action={<a href={hrefTo(kind.screen)}>{codeTexts.allItems}</a>}
      />
    );
  }
  const { newest } = value;
  const context: CodeContext = {
    ...value,
    kind,
    newest,
    newestVersionId: newest.versionId,
    reload,
    line: Number.isInteger(line) ? line : undefined,
    isNewTestCase: query.get("testCase") === "new",
  };
  return <LoadedCodePage context={context} tab={tab} />;
}

const parentOf = ({ screen, title }: CodeKindInfo) => ({ href: hrefTo(screen), text: title });

async function loadCode(kind: CodeKindInfo, id: string) {
  try {
    const { answer, tag } = await kind.getNewest(id);
    const { publishedVersionId } = answer;
    const code = { newest: answer, published: undefined, tag, isDeleted: false };
    if (publishedVersionId === undefined) return code;
    const isLive = publishedVersionId === answer.versionId;
    return { ...code, published: isLive ? answer : await kind.getPublished(id) };
  } catch (error) {
    if (!(error instanceof RequestRefused && error.status === 404)) throw error;
    // The revisions of deleted code are kept, and publishing one restores it.
    const [newest] = await kind.listRevisions(id, 1);
    return { newest, published: undefined, tag: undefined, isDeleted: true };
  }
}

function LoadedCodePage({ context, tab }: { context: CodeContext; tab: string }) {
  const { kind, newest, published, isDeleted } = context;
  // The server may suspend the code while its page is open, even in the middle of an edit.
  const suspensions = useResource(() => listSuspensions(kind), [kind.screen], POLL_MS);
  const suspended = suspensions.value?.find(
    (it) => it.transformationVersionId === published?.versionId,
  )?.reason;
  const hasUnpublishedChanges = published !== undefined && published.versionId !== newest.versionId;
  const isRolledBack = hasUnpublishedChanges && newest.wasPublished;
  // After a rollback, the editor begins with the live code. The history has the newer revision.
  const edited = isRolledBack ? { ...context, newest: published } : context;
  const tabs = [
    { name: "code", text: codeTexts.code },
    { name: "history", text: codeTexts.history },
    ...(kind === libraries
      ? []
      : [
          { name: "logs", text: codeLogTexts.logs },
          { name: "destinations", text: commonTexts.destinations },
          { name: "metrics", text: metricTexts.metrics },
        ]),
  ];
  return (
    <>
      <ScreenHeader
        title={isolated(newest.name)}
        parent={parentOf(kind)}
        status={
          <>
            {isDeleted ? (
              <Badge tone="warn">{codeTexts.deleted}</Badge>
            ) : (
              <CodeStateBadge isPublished={published !== undefined} suspended={suspended} />
            )}
            {hasUnpublishedChanges && (
              <Badge tone="warn">
                {isRolledBack ? codeTexts.rolledBack : codeTexts.unpublishedChanges}
              </Badge>
            )}
            <Badge flat>{languageName(newest.language)}</Badge>
          </>
        }
      >
        {!isDeleted && (
          <ActionMenu>
            <DeleteCode {...context} />
          </ActionMenu>
        )}
      </ScreenHeader>
      {isDeleted && (
        <p class="notice warn" role="status">
          {codeTexts.deletedExplained}
        </p>
      )}
      <ErrorNotice error={suspensions.error} retry={suspensions.reload} />
      {suspended !== undefined && (
        <div class="error" role="alert">
          <p>{codeTexts.suspended(suspended)}</p>
        </div>
      )}
      {newest.description && <p class="quiet">{newest.description}</p>}
      <Tabs
        tabs={tabs}
        current={tab}
        hrefOf={(name) => hrefTo(kind.screen, newest.id, { tab: name === "code" ? "" : name })}
      />
      {tab === "code" && <Lazy load={loadWorkbench} with={edited} />}
      {tab === "history" && <Lazy load={loadHistory} with={context} />}
      {tab === "logs" && <CodeLogs {...context} />}
      {tab === "destinations" && <DestinationLinks {...context} />}
      {tab === "metrics" && <CodeMetrics id={newest.id} />}
    </>
  );
}

const loadWorkbench = async () => (await import("./workbench.tsx")).Workbench;
const loadHistory = async () => (await import("./revision-history.tsx")).RevisionHistory;

function CodeMetrics({ id }: { id: string }) {
  const permission = missingPermission("events:read");
  if (permission === undefined) return <MetricCharts kind="transformation" id={id} />;
  return <p class="notice">{destinationTexts.figuresRequire(permission)}</p>;
}

function DeleteCode({ kind, newest, tag, reload }: CodeContext) {
  const effect =
    kind === libraries ? codeTexts.libraryDeleteEffect : codeTexts.transformationDeleteEffect;
  return (
    <DeleteButton
      noun={kind.singular}
      name={newest.name}
      needs={kind.createPermission}
      consequence={codeTexts.deleteConsequence(effect)}
      remove={async () => {
        await reloadIfChanged(kind.remove(newest.id, tag), reload);
        discardText(textName("code", newest.id));
        navigate(hrefTo(kind.screen));
      }}
    />
  );
}

/** Shows a component whose code is loaded on first use, and a placeholder while it loads. */
function Lazy<Props extends object>(props: {
  load: () => Promise<ComponentType<Props>>;
  with: Props;
}) {
  const { value: Part, error } = useResource(() => loadPart(props.load), []);
  if (error !== undefined) return <ErrorNotice error={error} retry={() => location.reload()} />;
  return Part ? <Part {...props.with} /> : <SkeletonLine />;
}
