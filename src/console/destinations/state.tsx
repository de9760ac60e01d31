import type { AnswerOf } from "../../api/client.ts";
import { useLoaded } from "../loaded.ts";
import { Badge } from "../parts/layout.tsx";
import { client, lacking } from "../session.ts";

export type StateName = AnswerOf<"GET /v2/overview">["destinations"][number]["state"];

const ASKED_EVERY_MS = 10_000;

const shown: Record<StateName, { text: string; tone?: "good" | "warn" | "bad" }> = {
  ok: { text: "Delivers", tone: "good" },
  paused: { text: "Paused" },
  failing: { text: "Fails now and then", tone: "warn" },
  down: { text: "Down", tone: "bad" },
  waiting: { text: "Waits for a guest", tone: "warn" },
  unconnected: { text: "Not connected" },
  suspended: { text: "Code suspended", tone: "bad" },
};

export function StateBadge({ state }: { state: StateName }) {
  const { text, tone } = shown[state];
  return <Badge {...(tone && { tone })}>{text}</Badge>;
}

/** How a destination is doing, where the reader may see it; else whether it is on. */
export function DestinationState(props: { destination: { id: string; enabled: boolean } }) {
  const { id, enabled } = props.destination;
  const { value } = useLoaded(
    async () => (lacking("events:read") ? undefined : await client.call("GET /v2/overview")),
    [id, enabled],
    ASKED_EVERY_MS,
  );
  const state = value?.destinations.find((it) => it.id === id)?.state;
  return <StateBadge state={state ?? (enabled ? "ok" : "paused")} />;
}
