import { Badge } from "../components/layout.tsx";
import { ListScreen } from "../components/list-screen.tsx";
import { Time } from "../components/time.tsx";
import { client, missingPermission } from "../data/session.ts";
import { hrefTo } from "../router.ts";
import { type CodeItem, type CodeKindInfo, languageName, libraries } from "./code-kind.ts";
import { NewCodeDialog } from "./new-code-dialog.tsx";

/** Screen that lists all transformations or all libraries, published or not. */
export function CodeList({ kind, isNew }: { kind: CodeKindInfo; isNew: boolean }) {
  return (
    <>
      <ListScreen {...kind} load={() => listCode(kind)} columns={columnsOf(kind)}>
        {kind === libraries
          ? "A library is code that transformations import by name."
          : "A transformation is code that changes, drops or multiplies events before they reach a destination."}
      </ListScreen>
      {isNew && <NewCodeDialog kind={kind} />}
    </>
  );
}

type CodeRow = CodeItem & { suspended?: string };

async function listCode(kind: CodeKindInfo): Promise<CodeRow[]> {
  const [published, drafts, suspended] = await Promise.all([
    kind.list(true),
    kind.list(false),
    kind === libraries || missingPermission("events:read") !== undefined ? [] : listSuspensions(),
  ]);
  const reasons = new Map(suspended.map((it) => [it.transformationVersionId, it.reason]));
  return [...published, ...drafts].map((code) => {
    const reason = reasons.get(code.versionId);
    return reason === undefined ? code : { ...code, suspended: reason };
  });
}

async function listSuspensions() {
  return (await client.call("GET /v2/suspensions")).suspensions;
}

function columnsOf(kind: CodeKindInfo) {
  return [
    {
      title: "Name",
      kind: "name" as const,
      cell: ({ id, name, description }: CodeRow) => (
        <>
          <a class="cut" href={hrefTo(kind.screen, id)}>
            {name}
          </a>
          {description && <p class="quiet small cut">{description}</p>}
        </>
      ),
    },
    {
      title: "State",
      kind: "narrow" as const,
      cell: (row: CodeRow) => (
        <CodeStateBadge isPublished={row.isPublished} suspended={row.suspended} />
      ),
    },
    {
      title: kind === libraries ? "Imported as" : "Destinations",
      cell: ({ destinations = [], importName }: CodeRow) =>
        kind === libraries ? (
          <code>{importName}</code>
        ) : (
          <span class={destinations.length === 0 ? "quiet" : undefined}>
            {destinations.map(({ name }) => name).join(", ") || "None"}
          </span>
        ),
    },
    {
      title: "Language",
      kind: "narrow" as const,
      cell: ({ language }: CodeRow) => languageName(language),
    },
    {
      title: "Updated",
      kind: "narrow" as const,
      cell: ({ updatedAt }: CodeRow) => <Time at={updatedAt} />,
    },
  ];
}

/** Badge with the text `Live`, `Draft` or `Suspended`. */
export function CodeStateBadge(props: { isPublished: boolean; suspended?: string | undefined }) {
  if (props.suspended !== undefined) {
    return (
      <span title={props.suspended}>
        <Badge tone="bad">Suspended</Badge>
      </span>
    );
  }
  return props.isPublished ? <Badge tone="good">Live</Badge> : <Badge>Draft</Badge>;
}
