/** What is read off a lane at any moment, and of a destination's lanes in several lines as one. */

/**
 * Labels of a lane's metrics, which the lane's parts share: when a destination is renamed, all of
 * them show the new name.
 */
export interface LaneLabels {
  destination: string;
  /** The destination's name, as people know it. */
  name: string;
  kind: string;
}

/** Since when something holds, and why. */
export interface FailureState {
  /** Of `clock.elapsed`, which nobody sets back. */
  since: number;
  /** Milliseconds since the epoch, as people are told. */
  startedAt: number;
  reason: string;
}

export interface LaneGauges {
  labels: LaneLabels;
  workspace: string;
  lagEvents(): number;
  lagSeconds(): number;
  isWaitingForSandbox(): boolean;
  /** Since when nothing gets through, and why; undefined while the receiver answers. */
  failure: FailureState | undefined;
  /** Since when the receiver refuses all that it answers to, and why. */
  refusal: FailureState | undefined;
}

/** Undefined without a lane. A receiver that fails for one line fails: its line waits. */
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

/** The lanes of all lines, one for each destination. */
export function gaugesByDestination(lanes: Iterable<LaneGauges>): LaneGauges[] {
  const groups = Map.groupBy(lanes, ({ labels }) => labels.destination);
  return [...groups.values()].flatMap((group) => mergeGauges(group) ?? []);
}
