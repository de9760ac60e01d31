import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { matching } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { Badge, Empty, Head, Panel } from "../parts/layout.tsx";
import { Search } from "../parts/search.tsx";
import { Pages, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { go, to } from "../router.ts";
import { client, lacking } from "../session.ts";
import { type Code, type Kind, languageName, libraries } from "./kinds.ts";
import { NewCode } from "./new.tsx";

const PAGE_ITEMS = 50;

/** All transformations, or all libraries, published ones and drafts. */
export function CodeList({ kind, isNew }: { kind: Kind; isNew: boolean }) {
  const { value, error, reload } = useLoaded(() => everything(kind), [kind.screen]);
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const found = matching(value, text);
  const create = (
    <Button kind="main" icon="plus" needs={kind.create} onClick={() => go(to(kind.screen, "new"))}>
      New {kind.one}
    </Button>
  );
  return (
    <>
      <Head title={kind.title}>{create}</Head>
      <Fault error={error} retry={reload} />
      <Panel flush>
        <header>
          <Search
            label={`Find a ${kind.one}`}
            value={text}
            onInput={(typed) => {
              setText(typed);
              setPage(1);
            }}
          />
        </header>
        <Table
          label={kind.title}
          columns={columnsOf(kind)}
          rows={found?.slice((page - 1) * PAGE_ITEMS, page * PAGE_ITEMS)}
          keyOf={({ id }) => id}
          empty={<Nothing {...{ kind, text, create }} />}
        />
        <Pages page={page} pageItems={PAGE_ITEMS} total={found?.length} onChange={setPage} />
      </Panel>
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
          <a href={to(kind.screen, id)}>{name}</a>
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

function Nothing(props: { kind: Kind; text: string; create: ComponentChildren }) {
  const { kind, text, create } = props;
  if (text !== "") {
    return (
      <Empty icon="search" title={`No ${kind.one} is called “${text}”`}>
        Try a part of the name, or the whole id.
      </Empty>
    );
  }
  return (
    <Empty icon={kind.icon} title={`No ${kind.one} yet`} action={create}>
      {kind === libraries
        ? "A library is code that transformations import by its name."
        : "A transformation is code that changes, drops or multiplies events on their way to a destination."}
    </Empty>
  );
}
