import { CopyableCode, Switch } from "../components/button.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { FactList, Panel, ScreenHeader, Tabs } from "../components/layout.tsx";
import { Loaded } from "../components/loaded.tsx";
import { Time } from "../components/time.tsx";
import { ConnectionList } from "../connections/connection-list.tsx";
import type { Destination } from "../data/model.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { ConnectionTest } from "./connection-test.tsx";
import { DestinationSettings } from "./destination-settings.tsx";
import { DestinationState } from "./destination-state.tsx";
import { Health } from "./health.tsx";
import { LinkedTransformation } from "./linked-transformation.tsx";
import { RecentErrors } from "./recent-errors.tsx";

/** Screen of one destination, with its health, its connections and its settings. */
export function DestinationPage({ id, tab }: { id: string; tab: string }) {
  const resource = useResource(
    async () => (await client.call("GET /v2/destinations/{id}", { params: { id } })).destination,
    [id],
  );
  const { value, reload } = resource;
  return (
    <>
      <ScreenHeader
        title={value?.name ?? "Destination"}
        parent={{ href: hrefTo("destinations"), text: "Destinations" }}
        status={value && <DestinationState destination={value} />}
      >
        {value && <DestinationActions destination={value} />}
      </ScreenHeader>
      <Tabs
        tabs={[
          { name: "", text: "Health" },
          { name: "settings", text: "Settings" },
        ]}
        current={tab}
        hrefOf={(name) => hrefTo("destinations", id, { tab: name })}
      />
      <Loaded resource={resource}>
        {(destination) =>
          tab === "settings" ? (
            <DestinationSettings
              key={destination.updatedAt}
              destination={destination}
              reload={reload}
            />
          ) : (
            <div class="columns">
              <div class="stack">
                <Health destinationId={id} />
                <RecentErrors destinationId={id} />
              </div>
              <div class="stack">
                <DestinationFacts destination={destination} reload={reload} />
                <ConnectionTest destinationId={id} />
                <LinkedTransformation destination={destination} reload={reload} />
                <Panel title="Sources" flush>
                  <ConnectionList of="destination" id={id} />
                </Panel>
              </div>
            </div>
          )
        }
      </Loaded>
    </>
  );
}

function DestinationActions({ destination: { id, name } }: { destination: Destination }) {
  return (
    <>
      <a class="button" href={hrefTo("events", { destinationId: id })}>
        Live tail
      </a>
      <a class="button" href={hrefTo("replays", "new", { destinationId: id })}>
        Replay events
      </a>
      <DeleteButton
        noun="destination"
        name={name}
        consequence="Its connections and its dead letters are deleted, and its pending events are not delivered. Its transformation is kept."
        remove={async () => {
          await client.call("DELETE /v2/destinations/{id}", { params: { id } });
          navigate(hrefTo("destinations"));
        }}
      />
    </>
  );
}

function DestinationFacts(props: { destination: Destination; reload: () => Promise<void> }) {
  const { id, type, enabled, createdAt, updatedAt } = props.destination;
  return (
    <Panel title="Destination">
      <Switch
        on={enabled}
        needs="workspace:admin"
        onChange={async (on) => {
          const body = { enabled: on };
          await client.call("PUT /v2/destinations/{id}", { params: { id }, body });
          await props.reload();
        }}
      >
        {enabled ? "Enabled" : "Paused: new events are skipped"}
      </Switch>
      <FactList
        facts={[
          ["Type", type],
          ["Id", <CopyableCode value={id} name="id" />],
          ["Created", <Time at={createdAt} />],
          ["Updated", <Time at={updatedAt} />],
        ]}
      />
    </Panel>
  );
}
