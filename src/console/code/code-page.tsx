import { ConfirmButton } from "../components/dialog.tsx";
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
import { showToast } from "../components/toasts.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { type CodeContext, type CodeKind, languageName, libraries } from "./code-kind.ts";
import { CodeStateBadge } from "./code-list.tsx";
import { Links } from "./destination-links.tsx";
import { discardText } from "./unsaved-text.ts";

/** One transformation, or one library: its code, its past, its destinations. */
export function CodePage(props: { kind: CodeKind; id: string; query: URLSearchParams }) {
  const { kind, id, query } = props;
  const tab = query.get("tab") ?? "code";
  const line = Number(query.get("line") ?? Number.NaN);
  const { value, error, reload } = useResource(() => loadCode(kind, id), [kind.screen, id]);
  const way = { href: hrefTo(kind.screen), text: kind.title };
  if (value === undefined) {
    return (
      <>
        <ScreenHeader title={kind.singular} way={way} />
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
        title={`There is no such ${kind.singular}`}
        action={<a href={way.href}>All</a>}
      >
        It may be of another workspace, or the address is misspelt.
      </EmptyState>
    );
  }
  const opened: CodeContext = { kind, newest: value.newest, published: value.published, reload };
  if (Number.isInteger(line)) opened.at = line;
  return <LoadedCodePage opened={opened} tab={tab} way={way} />;
}

async function loadCode(kind: CodeKind, id: string) {
  const [[newest], published] = await Promise.all([
    kind.listRevisions(id, 1),
    kind.getPublished(id),
  ]);
  return { newest, published };
}

function LoadedCodePage(props: {
  opened: CodeContext;
  tab: string;
  way: { href: string; text: string };
}) {
  const { opened, tab, way } = props;
  const { kind, newest, published } = opened;
  const isBehind = published !== undefined && published.versionId !== newest.versionId;
  const tabs = [
    { name: "code", text: "Code" },
    { name: "history", text: "History" },
    ...(kind === libraries ? [] : [{ name: "destinations", text: "Destinations" }]),
  ];
  return (
    <>
      <ScreenHeader
        title={newest.name}
        way={way}
        beside={
          <>
            <CodeStateBadge isPublished={published !== undefined} />
            {isBehind && <Badge tone="warn">Newer draft</Badge>}
            <Badge flat>{languageName(newest.language)}</Badge>
          </>
        }
      >
        <ConfirmButton
          kind="plain"
          icon="bin"
          needs={kind.createPermission}
          {...deletionOf(opened)}
        >
          Delete
        </ConfirmButton>
      </ScreenHeader>
      {newest.description && <p class="quiet">{newest.description}</p>}
      <Tabs
        tabs={tabs.map(({ name, text }) => ({
          href: hrefTo(kind.screen, newest.id, { tab: name === "code" ? undefined : name }),
          text,
          current: name === tab,
        }))}
      />
      {tab === "code" && <Lazy load={loadWorkbench} with={opened} />}
      {tab === "history" && <Lazy load={loadHistory} with={opened} />}
      {tab === "destinations" && <Links {...opened} />}
    </>
  );
}

const loadWorkbench = async () => (await import("./workbench.tsx")).Workbench;
const loadHistory = async () => (await import("./revision-history.tsx")).History;

function deletionOf({ kind, newest }: CodeContext) {
  return {
    title: `Delete ${newest.name}?`,
    text:
      kind === libraries
        ? "What imports it can no longer be published. Its revisions are kept, and publishing one restores it."
        : "Its destinations get their events unchanged from then on. Its revisions are kept, and publishing one restores it.",
    action: "Delete",
    async onConfirm() {
      await kind.remove(newest.id);
      discardText(`code ${newest.id}`);
      showToast(`${newest.name} is deleted`);
      navigate(hrefTo(kind.screen));
    },
  };
}
