import { useEffect } from "preact/hooks";
import { LinkButton } from "../components/button.tsx";
import { DeleteButton } from "../components/dialog.tsx";
import { Loaded, PermissionRequired, ScreenHeader, Tabs } from "../components/layout.tsx";
import { ActionMenu } from "../components/menu.tsx";
import type { Destination } from "../data/model.ts";
import { reloadIfChanged, type StoredState } from "../data/save.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { isolated } from "../format.ts";
import { hrefTo, navigate, type ScreenProps } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { DestinationList } from "./destination-list.tsx";
import { DestinationSettings } from "./destination-settings.tsx";
import { DestinationStateBadge } from "./destination-state.tsx";
import { HealthTab, loadStatus } from "./health.tsx";
import { NewDestination } from "./new-destination.tsx";

const POLL_MS = 5_000;

export function Screen({ subpath: [id], query }: ScreenProps) {
  if (id === undefined) return <DestinationList state={query.get("state") ?? ""} />;
  if (id === "new") return <NewDestination copyOf={query.get("copyOf") ?? undefined} />;
  return <DestinationPage key={id} id={id} tab={query.get("tab") ?? ""} />;
}

/**
 * Screen of one destination. Problems, and what to do about them, come first. A session without
 * `workspace:admin` sees the state, figures and errors, but neither settings nor connections.
 */
function DestinationPage({ id, tab }: { id: string; tab: string }) {
  const isAdmin = missingPermission("workspace:admin") === undefined;
  const readsEvents = missingPermission("events:read") === undefined;
  const params = { id };
  const resource = useResource(
    async () =>
      isAdmin ? await client.callTagged("GET /v2/destinations/{id}", { params }) : undefined,
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

type ActionProps = StoredState & { id: string; destination: Destination | undefined };

function DestinationActions({ id, destination, tag, reload }: ActionProps) {
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
