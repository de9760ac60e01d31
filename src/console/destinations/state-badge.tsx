import type { AnswerOf } from "../../api/client.ts";
import { Badge } from "../components/layout.tsx";

export type DestinationStateName = AnswerOf<"GET /v2/overview">["destinations"][number]["state"];

const badges: Record<DestinationStateName, { text: string; tone?: "good" | "warn" | "bad" }> = {
  ok: { text: "Delivers", tone: "good" },
  paused: { text: "Paused" },
  failing: { text: "Failing", tone: "warn" },
  down: { text: "Down", tone: "bad" },
  waiting: { text: "Waits for a guest", tone: "warn" },
  unknown: { text: "Not known", tone: "warn" },
  unconnected: { text: "Not connected" },
  suspended: { text: "Code suspended", tone: "bad" },
};

/** `failed`: dead letters a second; a destination may refuse some events and take others. */
export function DestinationStateBadge({
  state,
  failed = 0,
}: {
  state: DestinationStateName;
  failed?: number;
}) {
  if (state === "ok" && failed > 0) return <Badge tone="warn">Refuses events</Badge>;
  const { text, tone } = badges[state];
  return <Badge {...(tone && { tone })}>{text}</Badge>;
}
