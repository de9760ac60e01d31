import { useState } from "preact/hooks";
import { everySource, type Source } from "../every.ts";
import { NamedList } from "../named-list.tsx";
import { Button, Copy } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Fault, faultOf } from "../parts/fault.tsx";
import { TextField } from "../parts/field.tsx";
import { useSubmit } from "../parts/form.ts";
import { Badge } from "../parts/layout.tsx";
import type { Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { go, to } from "../router.ts";
import { client } from "../session.ts";

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
  return (
    <>
      <NamedList
        screen="sources"
        title="Sources"
        one="source"
        icon="source"
        create="workspace:admin"
        load={everySource}
        columns={columns}
      >
        A source is a website or an app that sends pixels. It has a write key of its own, which you
        paste into a page.
      </NamedList>
      {isNew && <NewSource />}
    </>
  );
}

function NewSource() {
  const [name, setName] = useState("");
  const { submit, busy, error } = useSubmit(async () => {
    const { source } = await client.call("POST /v2/sources", { body: { name, type: "http" } });
    go(to("sources", source.id));
  });
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
