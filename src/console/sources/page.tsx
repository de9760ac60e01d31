import { useState } from "preact/hooks";
import { Connections } from "../connections/connections.tsx";
import type { Source } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Button, Copy, Switch } from "../parts/button.tsx";
import { AskingButton } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { TextField } from "../parts/field.tsx";
import { useSubmit } from "../parts/form.ts";
import { Badge, Head, Panel, Skeleton } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import { Time } from "../parts/time.tsx";
import { go, to } from "../router.ts";
import { client } from "../session.ts";
import { Snippet } from "./snippet.tsx";
import { TestEvent } from "./test-event.tsx";

interface Loaded {
  source: Source;
  dataPlane: string;
}

/** One source: its write key, what to paste, a test event, where its events go. */
export function SourcePage({ id }: { id: string }) {
  const { value, error, reload } = useLoaded<Loaded>(async () => {
    const [{ source }, { workspace }] = await Promise.all([
      client.call("GET /v2/sources/{id}", { params: { id } }),
      client.call("GET /v2/workspace"),
    ]);
    return { source, dataPlane: workspace.dataPlaneURL };
  }, [id]);
  const source = value?.source;
  return (
    <>
      <Head
        title={source?.name ?? "Source"}
        way={{ href: to("sources"), text: "Sources" }}
        beside={source && !source.enabled && <Badge>Off</Badge>}
      >
        {source && <Actions source={source} changed={reload} />}
      </Head>
      <Fault error={error} retry={reload} />
      {value ? (
        <div class="columns">
          <div class="stack">
            <Panel title="Put it on a page">
              <Snippet {...value} />
            </Panel>
            <Panel title="Send a test event">
              <TestEvent {...value} />
            </Panel>
          </div>
          <div class="stack">
            <Panel title="Source">
              <Facts source={value.source} changed={reload} />
            </Panel>
            <Panel title="Destinations" flush>
              <Connections of="source" id={id} />
            </Panel>
          </div>
        </div>
      ) : (
        error === undefined && <Skeleton />
      )}
    </>
  );
}

interface Parts {
  source: Source;
  changed: () => Promise<void>;
}

function Actions({ source: { id, name }, changed }: Parts) {
  return (
    <>
      <AskingButton
        icon="turn"
        needs="workspace:admin"
        title="Rotate the write key?"
        text="The key of now stops at once: pages that still send it are answered with 401, and their events are lost. Have the new key in place soon."
        action="Rotate the key"
        onConfirm={async () => {
          await client.call("POST /v2/sources/{id}/rotate-write-key", { params: { id } });
          await changed();
          tell(`${name} has a new write key`);
        }}
      >
        Rotate write key
      </AskingButton>
      <AskingButton
        icon="bin"
        needs="workspace:admin"
        title={`Delete ${name}?`}
        text="Its write key stops at once, and its connections go with it. Events that it has sent are still delivered."
        action="Delete source"
        onConfirm={async () => {
          await client.call("DELETE /v2/sources/{id}", { params: { id } });
          tell(`${name} is deleted`);
          go(to("sources"));
        }}
      >
        Delete
      </AskingButton>
    </>
  );
}

function Facts({ source, changed }: Parts) {
  const { id, enabled, writeKey, createdAt } = source;
  return (
    <>
      <Switch
        on={enabled}
        needs="workspace:admin"
        onChange={async (on) => {
          await client.call("PUT /v2/sources/{id}", { params: { id }, body: { enabled: on } });
          await changed();
        }}
      >
        {enabled ? "Takes events" : "Off: pixels are answered with 404"}
      </Switch>
      <dl class="facts">
        <dt>Write key</dt>
        <dd>
          <code>{writeKey}</code>
          <Copy text={writeKey} what="write key" />
        </dd>
        <dt>Id</dt>
        <dd>
          <code>{id}</code>
          <Copy text={id} what="id" />
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
      </dl>
      <Rename source={source} changed={changed} />
    </>
  );
}

function Rename({ source: { id, name: before }, changed }: Parts) {
  const [name, setName] = useState(before);
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("PUT /v2/sources/{id}", { params: { id }, body: { name } });
    await changed();
    tell("The name is changed");
  });
  return (
    <form class="form" onSubmit={submit}>
      <TextField label="Name" value={name} onInput={setName} required />
      <Fault error={error} />
      {name !== before && (
        <div class="ends">
          <Button type="submit" kind="main" needs="workspace:admin" busy={busy}>
            Rename
          </Button>
        </div>
      )}
    </form>
  );
}
