import type { Clock } from "../clock.ts";
import { DOWN_MS_MIN } from "../limits.ts";
import type { FailureState, LaneGauges, LastFailure } from "./lane-gauges.ts";
import type { ConnectionRates } from "./lane-history.ts";
import type { LaneMetrics } from "./metrics.ts";

/** Current state of the delivery to one destination, for the API and the console. */
export interface LaneStatus {
  /** Number of events that are neither delivered, dropped nor dead letters yet. */
  lagEvents: number;
  lagSeconds: number;
  /** Whether delivery waits for a free sandbox process to run the destination's user code. */
  isWaiting: boolean;
  /**
   * The current failure or refusal; absent while the destination accepts events. `since` is the
   * time of the first failed or refused attempt, in milliseconds since the Unix epoch. `isDown` is
   * true after `DOWN_MS_MIN` without an answer, and always false for a refusal.
   */
  failure?: { since: number; reason: string; isDown: boolean };
  /**
   * The last attempt that failed or that the destination's server refused, even if later ones
   * succeeded. Absent when there was none.
   */
  lastFailure?: LastFailure;
  /** Whether some events fail although the destination's server accepts others. */
  isRejecting: boolean;
  rates: ConnectionRates[];
}

export function laneStatus(
  lane: LaneGauges,
  { clock, metrics }: { clock: Clock; metrics: LaneMetrics },
): LaneStatus {
  const now = clock.now();
  const { failure, refusal, lastFailure, labels } = lane;
  const history = metrics.histories.get(labels.destination);
  return {
    lagEvents: lane.lagEvents(),
    lagSeconds: lane.lagSeconds(),
    isWaiting: lane.isWaitingForSandbox(),
    ...(failure && { failure: toldOf(failure, clock.elapsed() - failure.since >= DOWN_MS_MIN) }),
    ...(!failure && refusal && { failure: toldOf(refusal, false) }),
    ...(lastFailure && { lastFailure }),
    isRejecting: history.isRejecting(now),
    rates: history.rates(now),
  };
}

function toldOf({ startedAt, reason }: FailureState, isDown: boolean) {
  return { since: startedAt, reason, isDown };
}
