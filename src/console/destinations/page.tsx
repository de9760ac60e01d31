import { Connections } from "../connections/connections.tsx";
import type { Destination } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { Copy, Switch } from "../parts/button.tsx";
import { AskingButton } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { Bone, Head, Panel, Tabs } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import { Time } from "../parts/time.tsx";
import { go, to } from "../router.ts";
import { client } from "../session.ts";
import { ConnectionTest } from "./connection-test.tsx";
import { Health } from "./health.tsx";
import { LastErrors } from "./last-errors.tsx";
import { Settings } from "./settings.tsx";
import { DestinationState } from "./state.tsx";
import { DestinationTransformation } from "./transformation.tsx";

/** One destination: how it is doing, what it is connected to, its settings. */
export function DestinationPage({ id, tab }: { id: string; tab: string }) {
  const { value, error, reload } = useLoaded(
    async () => (await client.call("GET /v2/destinations/{id}", { params: { id } })).destination,
    [id],
  );
  return (
    <>
      <Head
        title={value?.name ?? "Destination"}
        way={{ href: to("destinations"), text: "Destinations" }}
        beside={value && <DestinationState destination={value} />}
      >
        {value && <Actions destination={value} changed={reload} />}
      </Head>
      <Fault error={error} retry={reload} />
      <Tabs
        tabs={[
          { href: to("destinations", id), text: "Health", current: tab === "" },
          {
            href: to("destinations", id, { tab: "settings" }),
            text: "Settings",
            current: tab === "settings",
          },
        ]}
      />
      {value === undefined ? (
        error === undefined && <Bone />
      ) : tab === "settings" ? (
        <Settings key={value.updatedAt} destination={value} changed={reload} />
      ) : (
        <div class="columns">
          <div class="stack">
            <Health destination={value} />
            <LastErrors destinationId={id} />
          </div>
          <div class="stack">
            <Facts destination={value} changed={reload} />
            <ConnectionTest destinationId={id} />
            <DestinationTransformation destination={value} changed={reload} />
            <Panel title="Sources" flush>
              <Connections of="destination" id={id} />
            </Panel>
          </div>
        </div>
      )}
    </>
  );
}

interface Parts {
  destination: Destination;
  changed: () => Promise<void>;
}

function Actions({ destination: { id, name } }: Parts) {
  return (
    <>
      <a class="button" href={to("events", { destinationId: id })}>
        Live tail
      </a>
      <a class="button" href={to("replays", "new", { destinationId: id })}>
        Replay events
      </a>
      <AskingButton
        icon="bin"
        needs="workspace:admin"
        title={`Delete ${name}?`}
        text="Its connections and its dead letters go with it, and events that wait for it are not delivered. Its transformation stays."
        action="Delete destination"
        onConfirm={async () => {
          await client.call("DELETE /v2/destinations/{id}", { params: { id } });
          tell(`${name} is deleted`);
          go(to("destinations"));
        }}
      >
        Delete
      </AskingButton>
    </>
  );
}

function Facts({ destination, changed }: Parts) {
  const { id, type, enabled, createdAt, updatedAt } = destination;
  return (
    <Panel title="Destination">
      <Switch
        on={enabled}
        needs="workspace:admin"
        onChange={async (on) => {
          const body = { enabled: on };
          await client.call("PUT /v2/destinations/{id}", { params: { id }, body });
          await changed();
        }}
      >
        {enabled ? "Takes events" : "Paused: new events pass it by"}
      </Switch>
      <dl class="facts">
        <dt>Type</dt>
        <dd>{type}</dd>
        <dt>Id</dt>
        <dd>
          <code>{id}</code>
          <Copy text={id} what="id" />
        </dd>
        <dt>Created</dt>
        <dd>
          <Time at={createdAt} />
        </dd>
        <dt>Changed</dt>
        <dd>
          <Time at={updatedAt} />
        </dd>
      </dl>
    </Panel>
  );
}
