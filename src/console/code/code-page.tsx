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
import { Lazy } from "../components/lazy.tsx";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { type CodeContext, type CodeKindInfo, languageName, libraries } from "./code-kind.ts";
import { CodeStateBadge } from "./code-list.tsx";
import { DestinationLinks } from "./destination-links.tsx";
import { discardText } from "./unsaved-text.ts";

/** Screen of one transformation or library, with its code, its revisions and its destinations. */
export function CodePage(props: { kind: CodeKindInfo; id: string; query: URLSearchParams }) {
  const { kind, id, query } = props;
  const tab = query.get("tab") ?? "code";
  const line = Number(query.get("line") ?? Number.NaN);
  const { value, error, reload } = useResource(() => loadCode(kind, id), [kind.screen, id]);
  const parent = { href: hrefTo(kind.screen), text: kind.title };
  if (value === undefined) {
    return (
      <>
        <ScreenHeader title={kind.singular} parent={parent} />
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
        title={`This ${kind.singular} was not found`}
        action={<a href={parent.href}>All</a>}
      >
        It may belong to another workspace, or the address is misspelt.
      </EmptyState>
    );
  }
  const context: CodeContext = { kind, newest: value.newest, published: value.published, reload };
  if (Number.isInteger(line)) context.line = line;
  return <LoadedCodePage context={context} tab={tab} parent={parent} />;
}

async function loadCode(kind: CodeKindInfo, id: string) {
  const [[newest], published] = await Promise.all([
    kind.listRevisions(id, 1),
    kind.getPublished(id),
  ]);
  return { newest, published };
}

function LoadedCodePage(props: {
  context: CodeContext;
  tab: string;
  parent: { href: string; text: string };
}) {
  const { context, tab, parent } = props;
  const { kind, newest, published } = context;
  const hasUnpublishedChanges = published !== undefined && published.versionId !== newest.versionId;
  const tabs = [
    { name: "code", text: "Code" },
    { name: "history", text: "History" },
    ...(kind === libraries ? [] : [{ name: "destinations", text: "Destinations" }]),
  ];
  return (
    <>
      <ScreenHeader
        title={newest.name}
        parent={parent}
        status={
          <>
            <CodeStateBadge isPublished={published !== undefined} />
            {hasUnpublishedChanges && <Badge tone="warn">Unpublished changes</Badge>}
            <Badge flat>{languageName(newest.language)}</Badge>
          </>
        }
      >
        <DeleteCode {...context} />
      </ScreenHeader>
      {newest.description && <p class="quiet">{newest.description}</p>}
      <Tabs
        tabs={tabs}
        current={tab}
        hrefOf={(name) => hrefTo(kind.screen, newest.id, { tab: name === "code" ? "" : name })}
      />
      {tab === "code" && <Lazy load={loadWorkbench} with={context} />}
      {tab === "history" && <Lazy load={loadHistory} with={context} />}
      {tab === "destinations" && <DestinationLinks {...context} />}
    </>
  );
}

const loadWorkbench = async () => (await import("./workbench.tsx")).Workbench;
const loadHistory = async () => (await import("./revision-history.tsx")).RevisionHistory;

function DeleteCode({ kind, newest }: CodeContext) {
  const effect =
    kind === libraries
      ? "Code that imports it can no longer be published."
      : "Its destinations receive their events unchanged from then on.";
  return (
    <DeleteButton
      noun={kind.singular}
      name={newest.name}
      needs={kind.createPermission}
      consequence={`${effect} Its revisions are kept, and publishing one restores it.`}
      remove={async () => {
        await kind.remove(newest.id);
        discardText(`code ${newest.id}`);
        navigate(hrefTo(kind.screen));
      }}
    />
  );
}
