import type { FailureCause } from "../model/attempt.ts";

/**
 * Labels of the metrics about a lane (the delivery to one destination). All metrics of the lane
 * share this object, because `name` is changed in place when the destination is renamed.
 */
export interface LaneLabels {
  destination: string;
  /** The destination's name as the API shows it. */
  name: string;
  kind: string;
}

/** Start and cause of a failure that has not ended yet. */
export interface FailureState extends FailureCause {
  /** Start of the failure by the monotonic clock `clock.elapsed`, to compute how long it lasts. */
  since: number;
  /** Start of the failure in milliseconds since the Unix epoch, for display. */
  startedAt: number;
}

/**
 * Cause and time (Unix milliseconds) of the last attempt that failed or that the receiver (the
 * destination's server) refused.
 */
export interface LastFailure extends FailureCause {
  at: number;
}

/**
 * Current state of a lane, which delivers one destination's events of one partition (the events of
 * some users). `mergeGauges` combines the states of a destination's lanes in several partitions.
 */
export interface LaneGauges {
  labels: LaneLabels;
  workspace: string;
  lagEvents(): number;
  lagSeconds(): number;
  isWaitingForSandbox(): boolean;
  /** Ids of the sources that are connected to the destination. */
  sourceIds(): Iterable<string>;
  /**
   * The current outage, or the bug that has stopped the lane; undefined while there is neither. An
   * outage begins with a failed attempt that may be retried, and ends when the destination's server
   * accepts or finally refuses an attempt.
   */
  failure: FailureState | undefined;
  /**
   * The current refusal of all events; undefined while there is none. During a refusal the receiver
   * (the destination's server) answers, but refuses every event.
   */
  refusal: FailureState | undefined;
  /**
   * The last attempt that failed or that the destination's server refused, even if later ones
   * succeeded; undefined when there was none.
   */
  lastFailure: LastFailure | undefined;
}

/**
 * Combines the gauges of one destination's lanes (one lane for each partition) into one. Returns
 * undefined for an empty list. When several lanes fail, the result has the failure that began
 * first.
 */
export function mergeGauges(lanes: readonly LaneGauges[]): LaneGauges | undefined {
  const [first] = lanes;
  if (lanes.length < 2) return first;
  return {
    ...first!,
    lagEvents: () => lanes.reduce((sum, lane) => sum + lane.lagEvents(), 0),
    lagSeconds: () => Math.max(...lanes.map((lane) => lane.lagSeconds())),
    isWaitingForSandbox: () => lanes.some((lane) => lane.isWaitingForSandbox()),
    failure: earliest(lanes.flatMap(({ failure }) => failure ?? [])),
    refusal: earliest(lanes.flatMap(({ refusal }) => refusal ?? [])),
    lastFailure: latestFailure(lanes.flatMap(({ lastFailure }) => lastFailure ?? [])),
  };
}

/** Returns the latest of several failures; undefined for an empty list. */
export function latestFailure<F extends { at: number }>(all: readonly F[]): F | undefined {
  return all.toSorted((one, other) => other.at - one.at)[0];
}

function earliest(all: readonly FailureState[]): FailureState | undefined {
  return all.toSorted((one, other) => one.since - other.since)[0];
}
