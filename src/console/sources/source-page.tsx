import { useState } from "preact/hooks";
import { Button, CopyButton, Switch } from "../components/button.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Badge, Panel, ScreenHeader, Skeleton } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { ConnectionList } from "../connections/connection-list.tsx";
import type { Source } from "../data/list-all.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { Snippet } from "./snippet.tsx";
import { TestEvent } from "./test-event.tsx";

interface SourceContext {
  source: Source;
  dataPlane: string;
}

/** One source: its write key, what to paste, a test event, where its events go. */
export function SourcePage({ id }: { id: string }) {
  const { value, error, reload } = useResource<SourceContext>(async () => {
    const [{ source }, { workspace }] = await Promise.all([
      client.call("GET /v2/sources/{id}", { params: { id } }),
      client.call("GET /v2/workspace"),
    ]);
    return { source, dataPlane: workspace.dataPlaneURL };
  }, [id]);
  const source = value?.source;
  return (
    <>
      <ScreenHeader
        title={source?.name ?? "Source"}
        way={{ href: hrefTo("sources"), text: "Sources" }}
        beside={source && !source.enabled && <Badge>Off</Badge>}
      >
        {source && <SourceActions source={source} changed={reload} />}
      </ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
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
              <SourceFacts source={value.source} changed={reload} />
            </Panel>
            <Panel title="Destinations" flush>
              <ConnectionList of="source" id={id} />
            </Panel>
          </div>
        </div>
      ) : (
        error === undefined && <Skeleton />
      )}
    </>
  );
}

interface SourceProps {
  source: Source;
  changed: () => Promise<void>;
}

function SourceActions({ source: { id, name }, changed }: SourceProps) {
  return (
    <>
      <ConfirmButton
        icon="turn"
        needs="workspace:admin"
        title="Rotate the write key?"
        text="The key of now stops at once: pages that still send it are answered with 401, and their events are lost. Have the new key in place soon."
        action="Rotate the key"
        onConfirm={async () => {
          await client.call("POST /v2/sources/{id}/rotate-write-key", { params: { id } });
          await changed();
          showToast(`${name} has a new write key`);
        }}
      >
        Rotate write key
      </ConfirmButton>
      <ConfirmButton
        icon="bin"
        needs="workspace:admin"
        title={`Delete ${name}?`}
        text="Its write key stops at once, and its connections go with it. Events that it has sent are still delivered."
        action="Delete source"
        onConfirm={async () => {
          await client.call("DELETE /v2/sources/{id}", { params: { id } });
          showToast(`${name} is deleted`);
          navigate(hrefTo("sources"));
        }}
      >
        Delete
      </ConfirmButton>
    </>
  );
}

function SourceFacts({ source, changed }: SourceProps) {
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
          <CopyButton text={writeKey} what="write key" />
        </dd>
        <dt>Id</dt>
        <dd>
          <code>{id}</code>
          <CopyButton text={id} what="id" />
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
      </dl>
      <RenameForm source={source} changed={changed} />
    </>
  );
}

function RenameForm({ source: { id, name: before }, changed }: SourceProps) {
  const [name, setName] = useState(before);
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("PUT /v2/sources/{id}", { params: { id }, body: { name } });
    await changed();
    showToast("The name is changed");
  });
  return (
    <form class="form" onSubmit={submit}>
      <TextField label="Name" value={name} onInput={setName} required />
      <ErrorNotice error={error} />
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
