import { CopyButton, Switch } from "../components/button.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Panel, ScreenHeader, SkeletonLine, Tabs } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { ConnectionList } from "../connections/connection-list.tsx";
import type { Destination } from "../data/list-all.ts";
import { client } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo, navigate } from "../router.ts";
import { ConnectionTest } from "./connection-test.tsx";
import { DestinationSettings } from "./destination-settings.tsx";
import { DestinationState } from "./destination-state.tsx";
import { Health } from "./health.tsx";
import { LinkedTransformation } from "./linked-transformation.tsx";
import { RecentErrors } from "./recent-errors.tsx";

/** One destination: how it is doing, what it is connected to, its settings. */
export function DestinationPage({ id, tab }: { id: string; tab: string }) {
  const { value, error, reload } = useResource(
    async () => (await client.call("GET /v2/destinations/{id}", { params: { id } })).destination,
    [id],
  );
  return (
    <>
      <ScreenHeader
        title={value?.name ?? "Destination"}
        way={{ href: hrefTo("destinations"), text: "Destinations" }}
        beside={value && <DestinationState destination={value} />}
      >
        {value && <DestinationActions destination={value} changed={reload} />}
      </ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
      <Tabs
        tabs={[
          { href: hrefTo("destinations", id), text: "Health", current: tab === "" },
          {
            href: hrefTo("destinations", id, { tab: "settings" }),
            text: "Settings",
            current: tab === "settings",
          },
        ]}
      />
      {value === undefined ? (
        error === undefined && <SkeletonLine />
      ) : tab === "settings" ? (
        <DestinationSettings key={value.updatedAt} destination={value} changed={reload} />
      ) : (
        <div class="columns">
          <div class="stack">
            <Health destination={value} />
            <RecentErrors destinationId={id} />
          </div>
          <div class="stack">
            <DestinationFacts destination={value} changed={reload} />
            <ConnectionTest destinationId={id} />
            <LinkedTransformation destination={value} changed={reload} />
            <Panel title="Sources" flush>
              <ConnectionList of="destination" id={id} />
            </Panel>
          </div>
        </div>
      )}
    </>
  );
}

interface DestinationProps {
  destination: Destination;
  changed: () => Promise<void>;
}

function DestinationActions({ destination: { id, name } }: DestinationProps) {
  return (
    <>
      <a class="button" href={hrefTo("events", { destinationId: id })}>
        Live tail
      </a>
      <a class="button" href={hrefTo("replays", "new", { destinationId: id })}>
        Replay events
      </a>
      <ConfirmButton
        icon="bin"
        needs="workspace:admin"
        title={`Delete ${name}?`}
        text="Its connections and its dead letters go with it, and events that wait for it are not delivered. Its transformation stays."
        action="Delete destination"
        onConfirm={async () => {
          await client.call("DELETE /v2/destinations/{id}", { params: { id } });
          showToast(`${name} is deleted`);
          navigate(hrefTo("destinations"));
        }}
      >
        Delete
      </ConfirmButton>
    </>
  );
}

function DestinationFacts({ destination, changed }: DestinationProps) {
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
          <CopyButton text={id} what="id" />
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
