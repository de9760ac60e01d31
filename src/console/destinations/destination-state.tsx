import { Badge } from "../components/layout.tsx";
import { type DestinationOverview, statesByUrgency } from "../data/model.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";

type State = DestinationOverview["state"];
const badges: Record<State, { text: string; tone?: "good" | "warn" | "bad" }> = {
  ok: { text: destinationTexts.healthy, tone: "good" },
  paused: { text: commonTexts.paused },
  failing: { text: commonTexts.failing, tone: "warn" },
  down: { text: destinationTexts.down, tone: "bad" },
  waiting: { text: destinationTexts.waitingForSandbox, tone: "warn" },
  lagging: { text: destinationTexts.lagging, tone: "warn" },
  unknown: { text: destinationTexts.unknown, tone: "warn" },
  unconnected: { text: commonTexts.notConnected },
  blocked: { text: destinationTexts.notDelivering, tone: "bad" },
  suspended: { text: destinationTexts.codeSuspended, tone: "bad" },
  external: { text: destinationTexts.byRudderServer },
};

/**
 * Badge with a destination's state. If the state is healthy and `isRejecting` is true, the badge
 * says instead that the destination rejects some events.
 */
export function DestinationStateBadge(props: { state: State; isRejecting?: boolean }) {
  const { state, isRejecting = false } = props;
  if (state === "ok" && isRejecting)
    return <Badge tone="warn">{destinationTexts.partiallyRejecting}</Badge>;
  const { text, tone } = badges[state];
  return <Badge tone={tone}>{text}</Badge>;
}

/** States by which a list of destinations can be filtered, most urgent first. */
export const stateOptions = statesByUrgency.map((value) => ({ value, text: badges[value].text }));
