import { Badge } from "../components/layout.tsx";
import type { Destination, DestinationOverview } from "../data/model.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";

const POLL_MS = 10_000;

type State = DestinationOverview["state"];
const badges: Record<State, { text: string; tone?: "good" | "warn" | "bad" }> = {
  ok: { text: "Healthy", tone: "good" },
  paused: { text: "Paused" },
  failing: { text: "Failing", tone: "warn" },
  down: { text: "Down", tone: "bad" },
  waiting: { text: "Waiting for sandbox", tone: "warn" },
  unknown: { text: "Unknown", tone: "warn" },
  unconnected: { text: "Not connected" },
  suspended: { text: "Code suspended", tone: "bad" },
};

/**
 * Badge for a destination's state. `failed` is the destination's rate of dead letters (events that
 * were given up) per second. If the rate is above 0, the badge of a healthy destination says that
 * the destination rejects some events.
 */
export function DestinationStateBadge({ state, failed = 0 }: { state: State; failed?: number }) {
  if (state === "ok" && failed > 0) return <Badge tone="warn">Partially rejecting</Badge>;
  const { text, tone } = badges[state];
  return <Badge {...(tone && { tone })}>{text}</Badge>;
}

/**
 * Badge for a destination's current state. Without the permission `events:read`, it only shows
 * whether the destination is enabled.
 */
export function DestinationState({ destination: { id, enabled } }: { destination: Destination }) {
  const { value } = useResource(
    async () =>
      missingPermission("events:read") ? undefined : await client.call("GET /v2/overview"),
    [id, enabled],
    POLL_MS,
  );
  const overview = value?.destinations.find((it) => it.id === id);
  const state = overview?.state ?? (enabled ? "ok" : "paused");
  return <DestinationStateBadge state={state} failed={overview?.rates.failed ?? 0} />;
}
