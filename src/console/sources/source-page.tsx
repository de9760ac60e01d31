import { useState } from "preact/hooks";
import { Button, CopyableCode, Switch } from "../components/button.tsx";
import { ConfirmButton, DeleteButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { TextField } from "../components/forms/fields.tsx";
import { useSubmit } from "../components/forms/use-submit.ts";
import { Badge, FactList, Panel, ScreenHeader } from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { ConnectionList } from "../connections/connection-list.tsx";
import type { Source } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { Snippet } from "./snippet.tsx";
import { TestEvent } from "./test-event.tsx";

/**
 * Screen of one source, with its write key, an install snippet, a test event and its destinations.
 */
export function SourcePage({ id }: { id: string }) {
  const resource = useResource(async () => {
    const [{ source }, { workspace }] = await Promise.all([
      client.call("GET /v2/sources/{id}", { params: { id } }),
      client.call("GET /v2/workspace"),
    ]);
    return { source, dataPlane: workspace.dataPlaneURL };
  }, [id]);
  const { value, reload } = resource;
  const source = value?.source;
  return (
    <>
      <ScreenHeader
        title={source?.name ?? "Source"}
        parent={{ href: hrefTo("sources"), text: "Sources" }}
        status={source && !source.enabled && <Badge>Disabled</Badge>}
      >
        {source && <SourceActions source={source} reload={reload} />}
      </ScreenHeader>
      <Loaded resource={resource}>
        {(loaded) => (
          <div class="columns">
            <div class="stack">
              <Panel title="Install snippet">
                <Snippet {...loaded} />
              </Panel>
              <Panel title="Send a test event">
                <TestEvent {...loaded} />
              </Panel>
            </div>
            <div class="stack">
              <Panel title="Source">
                <SourceFacts source={loaded.source} reload={reload} />
              </Panel>
              <Panel title="Destinations" flush>
                <ConnectionList of="source" id={id} />
              </Panel>
            </div>
          </div>
        )}
      </Loaded>
    </>
  );
}

interface SourceProps {
  source: Source;
  reload: () => Promise<void>;
}

function SourceActions({ source: { id, name }, reload }: SourceProps) {
  const params = { id };
  return (
    <>
      <ConfirmButton
        icon="turn"
        needs="workspace:admin"
        title="Rotate the write key?"
        text="The current key stops working immediately: pages that still send it get 401, and their events are lost. Install the new key soon."
        action="Rotate the key"
        onConfirm={async () => {
          await client.call("POST /v2/sources/{id}/rotate-write-key", { params });
          await reload();
          showToast(`${name} has a new write key`);
        }}
      >
        Rotate write key
      </ConfirmButton>
      <DeleteButton
        noun="source"
        name={name}
        consequence="Its write key stops working immediately, and its connections are deleted. Events that it has sent are still delivered."
        remove={async () => {
          await client.call("DELETE /v2/sources/{id}", { params });
          navigate(hrefTo("sources"));
        }}
      />
    </>
  );
}

function SourceFacts({ source, reload }: SourceProps) {
  const { id, enabled, writeKey, createdAt } = source;
  return (
    <>
      <Switch
        on={enabled}
        needs="workspace:admin"
        onChange={async (on) => {
          await client.call("PUT /v2/sources/{id}", { params: { id }, body: { enabled: on } });
          await reload();
        }}
      >
        {enabled ? "Enabled" : "Disabled: pixels get 404"}
      </Switch>
      <FactList
        facts={[
          ["Write key", <CopyableCode value={writeKey} name="write key" />],
          ["Id", <CopyableCode value={id} name="id" />],
          ["Created", <Time at={createdAt} />],
        ]}
      />
      <RenameForm source={source} reload={reload} />
    </>
  );
}

function RenameForm({ source: { id, name: before }, reload }: SourceProps) {
  const [name, setName] = useState(before);
  const { submit, busy, error } = useSubmit(async () => {
    await client.call("PUT /v2/sources/{id}", { params: { id }, body: { name } });
    await reload();
    showToast("Name changed");
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
