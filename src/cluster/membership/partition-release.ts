/** Partitions that this node can run, and reasons why it cannot run other partitions. */
export interface PartitionAbility {
  /** Sentences that say why this node cannot run a partition at present, by partition. */
  troubles: ReadonlyMap<number, string>;
  /**
   * Partitions that this node can run, because everything that their delivery needs works on this
   * node.
   */
  canRun: readonly number[];
}

/** Partitions that a node refuses to run for the same reason. */
export interface RefusedPartitions {
  reason: string;
  /** Numbers of the refused partitions, in ascending order. */
  partitions: number[];
}

/**
 * Maximum milliseconds that one call of `observe` adds to the times that it counts. If more time
 * has passed since the last call, the process was suspended and observed nothing meanwhile.
 */
const OBSERVED_MS_MAX = 1_000;
/**
 * Longest back-off before this node again accepts a partition that this node has refused, as a
 * multiple of the consumer group's session timeout.
 */
const BACKOFF_SESSIONS_MAX = 32;

type ObservedPartition = ReturnType<typeof newlyObserved>;

/**
 * Decides which partitions this node refuses because it cannot process them.
 * - A partition is refused after one session timeout of trouble.
 * - A refused partition that is still assigned to this node is accepted as soon as the trouble
 *   ends.
 * - Any other is accepted once this node could run it for a whole back-off time, which doubles with
 *   each refusal.
 */
export class PartitionRelease {
  readonly #observed = new Map<number, ObservedPartition>();
  /**
   * Partitions that this node refused or had trouble with when it last reported to the other nodes.
   */
  #reported: ReadonlySet<number> = new Set();
  /** Partitions that this node refused when it last reported to the other nodes. */
  #reportedRefusals: ReadonlySet<number> = new Set();
  #sinceReportMs = Number.POSITIVE_INFINITY;

  /**
   * `sessionMs` is the session timeout of the consumer group, in milliseconds. A node refuses a
   * partition once its trouble with the partition has lasted this long.
   */
  constructor(private readonly sessionMs: number) {}

  /**
   * Updates which partitions this node refuses. `held` has the partitions that are assigned to this
   * node. `elapsedMs` is the time since the last update.
   */
  observe(ability: PartitionAbility, held: readonly number[], elapsedMs: number): void {
    const stepMs = Math.min(elapsedMs, OBSERVED_MS_MAX);
    this.#sinceReportMs += stepMs;
    for (const [partition, reason] of ability.troubles) {
      const state = this.#observed.getOrInsertComputed(partition, newlyObserved);
      const troubledMs = state.troubledMs + stepMs;
      Object.assign(state, { reason, isTroubled: true, wellMs: 0, troubledMs });
      if (state.troubledMs < this.sessionMs || state.isRefused) continue;
      state.isRefused = true;
      state.refusals += 1;
    }
    for (const [partition, state] of this.#observed) {
      if (ability.troubles.has(partition)) continue;
      state.isTroubled = false;
      state.troubledMs = Math.max(0, Math.min(state.troubledMs, this.sessionMs) - stepMs);
      state.wellMs = ability.canRun.includes(partition) ? state.wellMs + stepMs : 0;
      if (held.includes(partition) || state.wellMs >= this.#backoffMs(state)) {
        state.isRefused = false;
      }
      const isForgotten = state.wellMs >= BACKOFF_SESSIONS_MAX * this.sessionMs;
      if (isForgotten && !state.isRefused) this.#observed.delete(partition);
    }
  }

  /** Returns the partitions that this node refuses to run, grouped by reason. */
  refused(): RefusedPartitions[] {
    const refused = [...this.#observed].filter(([, { isRefused }]) => isRefused);
    return [...Map.groupBy(refused, ([, { reason }]) => reason)].map(([reason, found]) => ({
      reason,
      partitions: found.map(([partition]) => partition).sort((a, b) => a - b),
    }));
  }

  refusedNumbers(): Set<number> {
    return new Set(this.refused().flatMap(({ partitions }) => partitions));
  }

  /**
   * Returns the partitions that this node stops without waiting for deliveries in flight: those
   * that it refuses now, and those refused in its last report, because a refused partition may work
   * again only briefly.
   */
  abandonedNumbers(): Set<number> {
    return this.refusedNumbers().union(this.#reportedRefusals);
  }

  /**
   * Whether this node should report which partitions it refuses. Reports are rare, because each
   * makes all nodes join the group again. `held` has the partitions assigned to this node. A report
   * is due in three cases:
   * - A held partition is refused, and was not refused in the last report.
   * - A held partition is refused, and the last report is at least a session timeout old.
   * - The last report is that old, and a partition that was refused or in trouble at that time is
   *   not refused now, and could run throughout the past session timeout.
   */
  isReportDue(held: readonly number[]): boolean {
    const refused = this.refusedNumbers();
    const holds = held.filter((partition) => refused.has(partition));
    if (holds.some((partition) => !this.#reportedRefusals.has(partition))) return true;
    const isWellAgain = this.#reported.values().some((it) => !refused.has(it) && this.#isWell(it));
    return (holds.length > 0 || isWellAgain) && this.#sinceReportMs >= this.sessionMs;
  }

  /** Records that this node has just reported which partitions it refuses. */
  reported(): void {
    this.#reported = this.#lackedNumbers();
    this.#reportedRefusals = this.refusedNumbers();
    this.#sinceReportMs = 0;
  }

  /** Returns the partitions that this node refuses, or had trouble with at the last `observe`. */
  #lackedNumbers(): Set<number> {
    const lacked = [...this.#observed].filter(([, it]) => it.isRefused || it.isTroubled);
    return new Set(lacked.map(([partition]) => partition));
  }

  /** Returns whether this node could run the partition throughout the past `sessionMs`. */
  #isWell(partition: number): boolean {
    const { wellMs = this.sessionMs } = this.#observed.get(partition) ?? {};
    return wellMs >= this.sessionMs;
  }

  #backoffMs({ refusals }: ObservedPartition): number {
    return Math.min(2 ** (refusals - 1), BACKOFF_SESSIONS_MAX) * this.sessionMs;
  }
}

const newlyObserved = () => ({
  /**
   * Counter in milliseconds that rises while this node has trouble with the partition, and
   * otherwise falls to 0 at the same rate. The fall starts from the session timeout at most.
   */
  troubledMs: 0,
  /** Milliseconds without interruption for which this node has been able to run the partition. */
  wellMs: 0,
  reason: "",
  /** Whether this node had trouble with the partition at the last observation. */
  isTroubled: false,
  isRefused: false,
  /**
   * Number of times that this node has refused the partition, which determines the back-off. It
   * starts again at 0 after a long time in which this node could run the partition.
   */
  refusals: 0,
});
