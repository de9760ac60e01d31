/** Current values of a lane, and of a destination's lanes in several partitions together. */

/**
 * Labels of a lane's metrics, which the lane's parts share: when a destination is renamed, all of
 * them show the new name.
 */
export interface LaneLabels {
  destination: string;
  /** The destination's display name. */
  name: string;
  kind: string;
}

/** Start and reason of a failure that goes on. */
export interface FailureState {
  /** Time of `clock.elapsed`, which is never set back. */
  since: number;
  /** Milliseconds since the epoch, for display. */
  startedAt: number;
  reason: string;
}

export interface LaneGauges {
  labels: LaneLabels;
  workspace: string;
  lagEvents(): number;
  lagSeconds(): number;
  isWaitingForSandbox(): boolean;
  /** Set while no attempt succeeds; undefined while the receiver answers. */
  failure: FailureState | undefined;
  /** Set while the receiver answers and refuses everything. */
  refusal: FailureState | undefined;
}

/** Undefined without a lane. A receiver that fails in one partition counts as failing. */
export function mergeGauges(lanes: readonly LaneGauges[]): LaneGauges | undefined {
  const [first] = lanes;
  if (first === undefined || lanes.length === 1) return first;
  return {
    ...first,
    lagEvents: () => lanes.reduce((sum, lane) => sum + lane.lagEvents(), 0),
    lagSeconds: () => Math.max(...lanes.map((lane) => lane.lagSeconds())),
    isWaitingForSandbox: () => lanes.some((lane) => lane.isWaitingForSandbox()),
    failure: earliest(lanes.flatMap(({ failure }) => failure ?? [])),
    refusal: earliest(lanes.flatMap(({ refusal }) => refusal ?? [])),
  };
}

function earliest(all: readonly FailureState[]): FailureState | undefined {
  return all.toSorted((one, other) => one.since - other.since)[0];
}

/** Merges the gauges of all partitions, one for each destination. */
export function gaugesByDestination(lanes: Iterable<LaneGauges>): LaneGauges[] {
  const groups = Map.groupBy(lanes, ({ labels }) => labels.destination);
  return [...groups.values()].flatMap((group) => mergeGauges(group) ?? []);
}
