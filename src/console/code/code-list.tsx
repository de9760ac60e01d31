import {
  type CodeKindInfo,
  type ListedCode,
  languageName,
  libraries,
} from "../code-kinds/code-kind.ts";
import { ItemLink } from "../components/item-link.tsx";
import { Badge } from "../components/layout.tsx";
import { type ListPage, type ListQuery, ListScreen } from "../components/list-screen.tsx";
import { Name } from "../components/name.tsx";
import { column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { client, missingPermission } from "../data/session.ts";
import { isolated } from "../format.ts";
import { codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import { NewCodeDialog } from "./new-code-dialog.tsx";

/** Screen that lists all transformations or all libraries, published or not. */
export function CodeList({ kind, isNew }: { kind: CodeKindInfo; isNew: boolean }) {
  return (
    <>
      <ListScreen {...kind} load={(query) => loadCode(kind, query)} columns={columnsOf(kind)}>
        {kind === libraries ? codeTexts.libraryExplained : codeTexts.transformationExplained}
      </ListScreen>
      {isNew && <NewCodeDialog kind={kind} />}
    </>
  );
}

type CodeRow = ListedCode & { suspended?: string };

async function loadCode(kind: CodeKindInfo, query: ListQuery): Promise<ListPage<CodeRow>> {
  const [{ items, total }, suspended] = await Promise.all([
    kind.list(query),
    listSuspensions(kind),
  ]);
  const reasons = new Map(suspended.map((it) => [it.transformationVersionId, it.reason]));
  const rows = items.map((code) => {
    const reason = reasons.get(code.versionId);
    return reason === undefined ? code : { ...code, suspended: reason };
  });
  return { items: rows, total };
}

/**
 * Lists the suspended revisions: those that the server does not run for a while, because their
 * latest events all failed. Resolves with `[]` for libraries, and without the permission
 * `events:read`.
 */
export async function listSuspensions(kind: CodeKindInfo) {
  if (kind === libraries || missingPermission("events:read") !== undefined) return [];
  return (await client.call("GET /v2/suspensions")).suspensions;
}

function columnsOf(kind: CodeKindInfo) {
  return [
    column.name(
      commonTexts.name,
      ({ id, name, description }: CodeRow) => (
        <>
          <ItemLink cut screen={kind.screen} id={id} name={name} />
          {description && <p class="quiet small cut">{description}</p>}
        </>
      ),
      "name",
    ),
    column.narrow(commonTexts.state, (row: CodeRow) => (
      <CodeStateBadge isPublished={row.isPublished} suspended={row.suspended} />
    )),
    column.plain(
      kind === libraries ? codeTexts.importedAs : commonTexts.destinations,
      ({ destinations = [], importName }: CodeRow) =>
        kind === libraries ? (
          <code>
            <Name>{importName}</Name>
          </code>
        ) : (
          <span class={destinations.length === 0 ? "quiet" : undefined}>
            {destinations.map(({ name }) => isolated(name)).join(", ") || commonTexts.none}
          </span>
        ),
    ),
    column.narrow(
      codeTexts.language,
      ({ language }: CodeRow) => languageName(language),
      "language",
    ),
    column.narrow(
      commonTexts.updated,
      ({ updatedAt }: CodeRow) => <Time at={updatedAt} />,
      "updatedAt",
    ),
  ];
}

/** Badge with the text `Live`, `Draft` or `Suspended`. */
export function CodeStateBadge(props: { isPublished: boolean; suspended?: string | undefined }) {
  if (props.suspended !== undefined) {
    return (
      <span title={props.suspended}>
        <Badge tone="bad">{commonTexts.suspended}</Badge>
      </span>
    );
  }
  return props.isPublished ? (
    <Badge tone="good">{codeTexts.live}</Badge>
  ) : (
    <Badge>{codeTexts.draft}</Badge>
  );
}
