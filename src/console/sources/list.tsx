import { useState } from "preact/hooks";
import { everySource, matching, type Source } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button, Copy } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Fault, faultOf } from "../parts/fault.tsx";
import { TextField } from "../parts/field.tsx";
import { Badge, Empty, Head, Panel } from "../parts/layout.tsx";
import { Search } from "../parts/search.tsx";
import { type Column, Pages, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { go, to } from "../router.ts";
import { client } from "../session.ts";

const PAGE_ITEMS = 50;

const columns: Column<Source>[] = [
  {
    title: "Name",
    kind: "name",
    cell: ({ id, name }) => (
      <a class="cut" href={to("sources", id)}>
        {name}
      </a>
    ),
  },
  {
    title: "State",
    kind: "narrow",
    cell: ({ enabled }) => (enabled ? <Badge tone="good">Takes events</Badge> : <Badge>Off</Badge>),
  },
  {
    title: "Write key",
    cell: ({ writeKey }) => (
      <span class="row">
        <code>{writeKey.slice(0, 8)}…</code>
        <Copy text={writeKey} what="write key" />
      </span>
    ),
  },
  { title: "Created", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** All sources of the workspace. */
export function SourceList({ isNew }: { isNew: boolean }) {
  const { value, error, reload } = useLoaded(everySource, []);
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  const found = matching(value, text);
  const create = (
    <Button
      kind="main"
      icon="plus"
      needs="workspace:admin"
      onClick={() => go(to("sources", "new"))}
    >
      New source
    </Button>
  );
  return (
    <>
      <Head title="Sources">{create}</Head>
      <Fault error={error} retry={reload} />
      <Panel flush>
        <header>
          <Search
            label="Find a source"
            value={text}
            onInput={(typed) => {
              setText(typed);
              setPage(1);
            }}
          />
        </header>
        <Table
          label="Sources"
          columns={columns}
          rows={found?.slice((page - 1) * PAGE_ITEMS, page * PAGE_ITEMS)}
          keyOf={({ id }) => id}
          empty={
            text === "" ? (
              <Empty icon="source" title="No source yet" action={create}>
                A source is a website or an app that sends pixels. It has a write key of its own,
                which you paste into a page.
              </Empty>
            ) : (
              <Empty icon="search" title={`No source is called “${text}”`}>
                Try a part of the name, or the whole id.
              </Empty>
            )
          }
        />
        <Pages page={page} pageItems={PAGE_ITEMS} total={found?.length} onChange={setPage} />
      </Panel>
      {isNew && <NewSource />}
    </>
  );
}

function NewSource() {
  const [name, setName] = useState("");
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);

  async function submit(event: SubmitEvent) {
    event.preventDefault();
    setBusy(true);
    try {
      const { source } = await client.call("POST /v2/sources", { body: { name, type: "http" } });
      go(to("sources", source.id));
    } catch (fault) {
      setError(fault);
      setBusy(false);
    }
  }

  return (
    <Dialog title="New source" onClose={() => go(to("sources"))}>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          required
          autoFocus
          placeholder="Website"
          hint="What sends the events: a site, an app, a campaign."
          wrong={faultOf(error, "/name")}
        />
        {faultOf(error, "/name") === undefined && <Fault error={error} />}
        <div class="ends">
          <Button onClick={() => go(to("sources"))}>Cancel</Button>
          <Button kind="main" type="submit" needs="workspace:admin" busy={busy}>
            Create source
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
