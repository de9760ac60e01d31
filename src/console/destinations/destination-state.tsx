import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { DestinationStateBadge } from "./state-badge.tsx";

const ASKED_EVERY_MS = 10_000;

/** How a destination is doing, where the reader may see it; else whether it is on. */
export function DestinationState(props: { destination: { id: string; enabled: boolean } }) {
  const { id, enabled } = props.destination;
  const { value } = useResource(
    async () =>
      missingPermission("events:read") ? undefined : await client.call("GET /v2/overview"),
    [id, enabled],
    ASKED_EVERY_MS,
  );
  const known = value?.destinations.find((it) => it.id === id);
  const state = known?.state ?? (enabled ? "ok" : "paused");
  return <DestinationStateBadge state={state} failed={known?.rates.failed ?? 0} />;
}
