import { useState } from "preact/hooks";
import { CopyButton } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { Form } from "../components/forms/form.tsx";
import { Badge } from "../components/layout.tsx";
import { ListScreen, nameColumn } from "../components/list-screen.tsx";
import type { Column } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { listAllSources } from "../data/list-all.ts";
import type { Source } from "../data/model.ts";
import { client } from "../data/session.ts";
import { hrefTo, navigate } from "../router.ts";

const columns: Column<Source>[] = [
  nameColumn("sources"),
  {
    title: "State",
    kind: "narrow",
    cell: ({ enabled }) => (enabled ? <Badge tone="good">Enabled</Badge> : <Badge>Disabled</Badge>),
  },
  {
    title: "Write key",
    cell: ({ writeKey }) => (
      <span class="row">
        <code>{writeKey.slice(0, 8)}…</code>
        <CopyButton text={writeKey} name="write key" />
      </span>
    ),
  },
  { title: "Created", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
];

/** Screen that lists all sources of the workspace. */
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
        A source is a website or an app that sends pixels. Each source has its own write key, which
        you paste into a page.
      </ListScreen>
      {isNew && <NewSource />}
    </>
  );
}

function NewSource() {
  const [name, setName] = useState("");
  const close = () => navigate(hrefTo("sources"));
  return (
    <Dialog title="New source" onClose={close}>
      <Form
        action="Create source"
        onCancel={close}
        onSubmit={async () => {
          const body = { name, type: "http" as const };
          const { source } = await client.call("POST /v2/sources", { body });
          navigate(hrefTo("sources", source.id));
        }}
      >
        {(errorAt) => (
          <TextField
            label="Name"
            value={name}
            onInput={setName}
            required
            autoFocus
            placeholder="Website"
            hint="What sends the events: a site, an app, a campaign."
            error={errorAt("/name")}
          />
        )}
      </Form>
    </Dialog>
  );
}
