import { NamedList } from "../named-list.tsx";
import { Badge } from "../parts/layout.tsx";
import { Time } from "../parts/time.tsx";
import { to } from "../router.ts";
import { client, lacking } from "../session.ts";
import { type Code, type Kind, languageName, libraries } from "./kinds.ts";
import { NewCode } from "./new.tsx";

/** All transformations, or all libraries, published ones and drafts. */
export function CodeList({ kind, isNew }: { kind: Kind; isNew: boolean }) {
  return (
    <>
      <NamedList {...kind} load={() => everything(kind)} columns={columnsOf(kind)}>
        {kind === libraries
          ? "A library is code that transformations import by its name."
          : "A transformation is code that changes, drops or multiplies events on their way to a destination."}
      </NamedList>
      {isNew && <NewCode kind={kind} />}
    </>
  );
}

type Row = Code & { suspended?: string };

async function everything(kind: Kind): Promise<Row[]> {
  const [published, drafts, suspended] = await Promise.all([
    kind.list(true),
    kind.list(false),
    kind === libraries || lacking("events:read") !== undefined ? [] : suspensions(),
  ]);
  const reasons = new Map(suspended.map((it) => [it.transformationVersionId, it.reason]));
  return [...published, ...drafts].map((code) => {
    const reason = reasons.get(code.versionId);
    return reason === undefined ? code : { ...code, suspended: reason };
  });
}

async function suspensions() {
  return (await client.call("GET /v2/suspensions")).suspensions;
}

function columnsOf(kind: Kind) {
  return [
    {
      title: "Name",
      kind: "name" as const,
      cell: ({ id, name, description }: Row) => (
        <>
          <a class="cut" href={to(kind.screen, id)}>
            {name}
          </a>
          {description && <p class="quiet small cut">{description}</p>}
        </>
      ),
    },
    {
      title: "State",
      kind: "narrow" as const,
      cell: (row: Row) => <State isPublished={row.isPublished} suspended={row.suspended} />,
    },
    {
      title: kind === libraries ? "Imported as" : "Destinations",
      cell: ({ destinations = [], importName }: Row) =>
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
      cell: ({ language }: Row) => languageName(language),
    },
    {
      title: "Changed",
      kind: "narrow" as const,
      cell: ({ updatedAt }: Row) => <Time at={updatedAt} />,
    },
  ];
}

/** Whether code is live. */
export function State(props: { isPublished: boolean; suspended?: string | undefined }) {
  if (props.suspended !== undefined) {
    return (
      <span title={props.suspended}>
        <Badge tone="bad">Suspended</Badge>
      </span>
    );
  }
  return props.isPublished ? <Badge tone="good">Live</Badge> : <Badge>Draft</Badge>;
}
