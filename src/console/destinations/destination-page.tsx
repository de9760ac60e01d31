import { useEffect, useState } from "preact/hooks";
import { CopyableCode, LinkButton, Switch } from "../components/button.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { ItemLink } from "../components/item-link.tsx";
import {
  FactList,
  Loaded,
  Panel,
  PermissionRequired,
  ScreenHeader,
  Skeleton,
  Tabs,
} from "../components/layout.tsx";
import { ActionMenu } from "../components/menu.tsx";
import { Time } from "../components/time.tsx";
import { ConnectionList } from "../connections/connection-list.tsx";
import type { Destination, DestinationRow } from "../data/model.ts";
import { reloadIfChanged, type StoredState } from "../data/save.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { filterTexts } from "../texts/event-filter.ts";
import { ConnectionTest } from "./connection-test.tsx";
import { DestinationSettings } from "./destination-settings.tsx";
import { DestinationStateBadge } from "./destination-state.tsx";
import { Health } from "./health.tsx";
import { LinkedTransformation } from "./linked-transformation.tsx";
import { RecentErrors } from "./recent-errors.tsx";
import { Trouble } from "./trouble.tsx";

const POLL_MS = 5_000;

/**
 * Screen of one destination. Problems, and what to do about them, come first. A session without
 * `workspace:admin` sees the state, figures and errors, but neither settings nor connections.
 */
export function DestinationPage({ id, tab }: { id: string; tab: string }) {
  const isAdmin = missingPermission("workspace:admin") === undefined;
  const readsEvents = missingPermission("events:read") === undefined;
  const resource = useResource(
    async () =>
      isAdmin
        ? await client.callTagged("GET /v2/destinations/{id}", { params: { id } })
        : undefined,
    [id],
  );
  const status = useResource(
    async () => (readsEvents ? await loadStatus(id) : undefined),
    [id],
    POLL_MS,
  );
  const { reload } = resource;
  const tag = resource.value?.tag;
  const value = resource.value?.answer.destination;
  const state = status.value?.destination;
  const isGone = status.error !== undefined && state === undefined;
  useEffect(() => {
    // Another user may have deleted the destination whose settings are shown.
    if (isGone) void reload();
  }, [isGone]);
  const reloadAll = async () => {
    await Promise.all([reload(), status.reload()]);
  };
  return (
    <>
      <ScreenHeader
        title={isolated(value?.name ?? state?.name ?? commonTexts.destination)}
        parent={{ href: hrefTo("destinations"), text: commonTexts.destinations }}
        status={
          state && <DestinationStateBadge state={state.state} isRejecting={state.rejecting} />
        }
      >
        <DestinationActions id={id} destination={value} tag={tag} reload={reload} />
      </ScreenHeader>
      <Tabs
        tabs={[
          { name: "", text: destinationTexts.health },
          { name: "settings", text: commonTexts.settings, needs: "workspace:admin" },
        ]}
        current={tab}
        hrefOf={(name) => hrefTo("destinations", id, { tab: name })}
      />
      {tab === "settings" ? (
        isAdmin ? (
          <Loaded resource={resource}>
            {() =>
              value && <DestinationSettings destination={value} tag={tag} reload={reloadAll} />
            }
          </Loaded>
        ) : (
          <PermissionRequired permission="workspace:admin" />
        )
      ) : (
        <HealthTab
          id={id}
          destination={value}
          status={status.value}
          error={resource.error ?? status.error}
          reload={reloadAll}
        />
      )}
    </>
  );
}

/**
 * Loads a destination's state and its latest failed delivery. If the failed delivery cannot be
 * loaded, resolves with the state alone.
 */
async function loadStatus(id: string) {
  const options = { params: { id } };
  const [status, latest] = await Promise.all([
    client.call("GET /v2/status/destinations/{id}", options),
    client.call("GET /v2/destinations/{id}/failure", options).catch(() => undefined),
  ]);
  return { ...status, failure: latest?.failure };
}

interface PartProps extends StoredState {
  id: string;
  destination: Destination | undefined;
}

function HealthTab(
  props: Omit<PartProps, "tag"> & {
    status: Awaited<ReturnType<typeof loadStatus>> | undefined;
    error: unknown;
  },
) {
  const { id, destination, status, error, reload } = props;
  const [tests, setTests] = useState(0);
  const state = status?.destination;
  // The panels are rendered together, because a panel that loads later would move the others.
  const isLoading =
    error === undefined && status === undefined && missingPermission("events:read") === undefined;
  if (isLoading) return <Skeleton />;
  if (destination === undefined && state === undefined) {
    return error === undefined ? <Skeleton /> : <ErrorNotice error={error} retry={reload} />;
  }
  const sources = (
    <Panel title={commonTexts.sources} flush>
      <ConnectionList of="destination" id={id} />
    </Panel>
  );
  const isOurs = (destination ?? state)?.deliveredBy === "pixelmill";
  return (
    <>
      <ErrorNotice error={error} retry={reload} />
      {!isOurs && <p class="notice">{destinationTexts.deliveredElsewhere}</p>}
      {isOurs && state && (
        <Trouble state={state} failure={status?.failure} onTest={() => setTests(tests + 1)} />
      )}
      <div class="columns">
        <div class="stack">
          {isOurs ? (
            <>
              <Health destinationId={id} state={state} missingNodes={status?.missingNodes ?? []} />
              <RecentErrors destinationId={id} />
            </>
          ) : (
            destination && sources
          )}
        </div>
        <div class="stack">
          {destination === undefined ? (
            <ReadOnlyFacts state={state!} sources={status?.sources ?? []} />
          ) : (
            <>
              <DestinationFacts destination={destination} reload={reload} />
              {isOurs && <ConnectionTest destinationId={id} requested={tests} />}
              <LinkedTransformation
                destination={destination}
                currentName={state?.transformationName}
                reload={reload}
              />
              {isOurs && sources}
            </>
          )}
        </div>
      </div>
    </>
  );
}

/** Facts about a destination, for a session without permission to read its settings. */
function ReadOnlyFacts(props: {
  state: DestinationRow;
  sources: readonly { id: string; name: string }[];
}) {
  const { id, type, deliveredBy, transformationId, transformationName } = props.state;
  return (
    <Panel title={commonTexts.destination}>
      <FactList
        facts={[
          [commonTexts.type, type],
          [destinationTexts.deliveredBy, deliveredBy],
          [commonTexts.id, <CopyableCode value={id} name={commonTexts.idNoun} />],
          [
            commonTexts.transformation,
            transformationId ? (
              <ItemLink screen="transformations" id={transformationId} name={transformationName} />
            ) : (
              destinationTexts.passThrough
            ),
          ],
          [
            commonTexts.sources,
            props.sources.map(({ name }) => name).join(", ") || commonTexts.none,
          ],
        ]}
      />
    </Panel>
  );
}

function DestinationActions({ id, destination, tag, reload }: PartProps) {
  return (
    <>
      {destination?.deliveredBy !== "rudder-server" && (
        <>
          <LinkButton needs="events:read" href={hrefTo("events", { destinationId: id })}>
            {commonTexts.liveTail}
          </LinkButton>
          <LinkButton
            needs={["events:read", "events:replay"]}
            href={hrefTo("replays", "new", { destinationId: id })}
          >
            {commonTexts.replayEvents}
          </LinkButton>
        </>
      )}
      {destination && (
        <ActionMenu>
          <LinkButton kind="plain" icon="copy" href={hrefTo("destinations", "new", { copyOf: id })}>
            {destinationTexts.duplicate}
          </LinkButton>
          <DeleteButton
            noun={destinationTexts.destinationNoun}
            name={destination.name}
            consequence={destinationTexts.deleteConsequence}
            remove={async () => {
              const input = { params: { id }, ifMatch: tag };
              await reloadIfChanged(client.call("DELETE /v2/destinations/{id}", input), reload);
              navigate(hrefTo("destinations"));
            }}
          />
        </ActionMenu>
      )}
    </>
  );
}

function DestinationFacts(props: { destination: Destination; reload: () => Promise<void> }) {
  const { id, type, deliveredBy, endpoint, enabled, filter, createdAt, updatedAt } =
    props.destination;
  return (
    <Panel title={commonTexts.destination}>
      <Switch
        on={enabled}
        needs="workspace:admin"
        onChange={async (on) => {
          const body = { enabled: on };
          await client.call("PUT /v2/destinations/{id}", { params: { id }, body });
          await props.reload();
        }}
      >
        {enabled ? commonTexts.enabled : destinationTexts.pausedEffect}
      </Switch>
      <FactList
        facts={[
          [commonTexts.type, type],
          endpoint && [destinationTexts.endpoint, <bdi>{endpoint}</bdi>],
          [destinationTexts.deliveredBy, deliveredBy],
          [commonTexts.id, <CopyableCode value={id} name={commonTexts.idNoun} />],
          filter && [filterTexts.filter, filterTexts.modes[filter.mode]],
          [commonTexts.created, <Time at={createdAt} />],
          [commonTexts.updated, <Time at={updatedAt} />],
        ]}
      />
    </Panel>
  );
}
