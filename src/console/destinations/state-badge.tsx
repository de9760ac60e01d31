import type { AnswerOf } from "../../api/client.ts";
import { Badge } from "../parts/layout.tsx";

export type StateName = AnswerOf<"GET /v2/overview">["destinations"][number]["state"];

const shown: Record<StateName, { text: string; tone?: "good" | "warn" | "bad" }> = {
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
export function StateBadge({ state, failed = 0 }: { state: StateName; failed?: number }) {
  if (state === "ok" && failed > 0) return <Badge tone="warn">Refuses events</Badge>;
  const { text, tone } = shown[state];
  return <Badge {...(tone && { tone })}>{text}</Badge>;
}
