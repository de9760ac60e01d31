import { useState } from "preact/hooks";
import { Button, CopyButton } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice, fieldError } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Badge } from "../components/layout.tsx";
import { ListScreen } from "../components/list-screen.tsx";
import type { TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { listAllSources, type Source } from "../data/list-all.ts";
import { client } from "../data/session.ts";
import { hrefTo, navigate } from "../router.ts";

const columns: TableColumn<Source>[] = [
  {
    title: "Name",
    kind: "name",
    cell: ({ id, name }) => (
      <a class="cut" href={hrefTo("sources", id)}>
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
        <CopyButton text={writeKey} what="write key" />
      </span>
    ),
  },
  { title: "Created", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** All sources of the workspace. */
export function SourceList({ isNew }: { isNew: boolean }) {
  return (
    <>
      <ListScreen
        screen="sources"
        title="Sources"
        singular="source"
        icon="source"
        createPermission="workspace:admin"
        load={listAllSources}
        columns={columns}
      >
        A source is a website or an app that sends pixels. It has a write key of its own, which you
        paste into a page.
      </ListScreen>
      {isNew && <NewSource />}
    </>
  );
}

function NewSource() {
  const [name, setName] = useState("");
  const { submit, busy, error } = useSubmit(async () => {
    const { source } = await client.call("POST /v2/sources", { body: { name, type: "http" } });
    navigate(hrefTo("sources", source.id));
  });
  return (
    <Dialog title="New source" onClose={() => navigate(hrefTo("sources"))}>
      <form class="form" onSubmit={submit}>
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          required
          autoFocus
          placeholder="Website"
          hint="What sends the events: a site, an app, a campaign."
          error={fieldError(error, "/name")}
        />
        {fieldError(error, "/name") === undefined && <ErrorNotice error={error} />}
        <div class="ends">
          <Button onClick={() => navigate(hrefTo("sources"))}>Cancel</Button>
          <Button kind="main" type="submit" needs="workspace:admin" busy={busy}>
            Create source
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
