import type { Clock } from "../clock.ts";
import { DOWN_MS_MIN } from "../limits.ts";
import type { FailureState, LaneGauges } from "./lane-gauges.ts";
import type { ConnectionRates } from "./lane-history.ts";
import type { LaneMetrics } from "./metrics.ts";

/** Current state of a lane, for the API and the console. */
export interface LaneStatus {
  /** Events that have not settled, and the age of the oldest one. */
  lagEvents: number;
  lagSeconds: number;
  /** Whether the lane waits for a guest to run its code. */
  isWaiting: boolean;
  /**
   * No attempt succeeded since then (milliseconds since the epoch): the receiver does not answer,
   * or refuses everything, which does not count as down.
   */
  failure?: { since: number; reason: string; isDown: boolean };
  rates: ConnectionRates[];
}

export function laneStatus(
  lane: LaneGauges,
  { clock, metrics }: { clock: Clock; metrics: LaneMetrics },
): LaneStatus {
  const now = clock.now();
  const { failure, refusal, labels } = lane;
  return {
    lagEvents: lane.lagEvents(),
    lagSeconds: lane.lagSeconds(),
    isWaiting: lane.isWaitingForSandbox(),
    ...(failure && { failure: toldOf(failure, clock.elapsed() - failure.since >= DOWN_MS_MIN) }),
    ...(!failure && refusal && { failure: toldOf(refusal, false) }),
    rates: metrics.histories.get(labels.destination).rates(now),
  };
}

function toldOf({ startedAt, reason }: FailureState, isDown: boolean) {
  return { since: startedAt, reason, isDown };
}
