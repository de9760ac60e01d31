/** Facts about whether this node can run partitions. */
export interface PartitionAbility {
  /** Partition → sentence on why this node cannot run it at present. */
  troubles: ReadonlyMap<number, string>;
  /** Partitions for which everything that a partition needs works at this node. */
  canRun: readonly number[];
}

/** Partitions that a node does not want to run, with the reason. */
export interface RefusedPartitions {
  reason: string;
  /** Numbers of the partitions in ascending order. */
  partitions: number[];
}

export interface PartitionReleaseOptions {
  /** Time in milliseconds of trouble after which this node refuses a partition. */
  sessionMs: number;
}

/**
 * Longest time in milliseconds that counts between two observations. A process that slept has
 * observed nothing meanwhile.
 */
const OBSERVED_MS_MAX = 1_000;
/** Longest back-off before a partition is taken back, in sessions. */
const BACKOFF_SESSIONS_MAX = 32;

type ObservedPartition = ReturnType<typeof newlyObserved>;

/**
 * Decides which partitions this node refuses, because it cannot do their work. It refuses a
 * partition after one session of trouble. It accepts the partition again when it has been able to
 * run it for a back-off time, which doubles with each refusal. A partition that still runs here is
 * accepted as soon as its trouble ends: then no other node could run it either.
 */
export class PartitionRelease {
  readonly #sessionMs: number;
  readonly #observed = new Map<number, ObservedPartition>();
  /** Partitions that this node refused, or would not have run, at its last report. */
  #reported: ReadonlySet<number> = new Set();
  /** Partitions that the last report refused. */
  #reportedRefusals: ReadonlySet<number> = new Set();
  #sinceReportMs = Number.POSITIVE_INFINITY;

  constructor({ sessionMs }: PartitionReleaseOptions) {
    this.#sessionMs = sessionMs;
  }

  /** Records which partitions this node can run and holds, `elapsedMs` after the last call. */
  observe(ability: PartitionAbility, held: readonly number[], elapsedMs: number): void {
    const stepMs = Math.min(elapsedMs, OBSERVED_MS_MAX);
    this.#sinceReportMs += stepMs;
    for (const [partition, reason] of ability.troubles) {
      const state = this.#observed.get(partition) ?? newlyObserved();
      this.#observed.set(partition, state);
      const troubledMs = state.troubledMs + stepMs;
      Object.assign(state, { reason, isTroubled: true, wellMs: 0, troubledMs });
      if (state.troubledMs < this.#sessionMs || state.isRefused) continue;
      state.isRefused = true;
      state.refusals += 1;
    }
    for (const [partition, state] of this.#observed) {
      if (ability.troubles.has(partition)) continue;
      state.isTroubled = false;
      state.troubledMs = Math.max(0, Math.min(state.troubledMs, this.#sessionMs) - stepMs);
      state.wellMs = ability.canRun.includes(partition) ? state.wellMs + stepMs : 0;
      if (held.includes(partition) || state.wellMs >= this.#backoffMs(state)) {
        state.isRefused = false;
      }
      const isForgotten = state.wellMs >= BACKOFF_SESSIONS_MAX * this.#sessionMs;
      if (isForgotten && !state.isRefused) this.#observed.delete(partition);
    }
  }

  /** Returns the partitions that this node refuses, by reason. */
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
   * Returns the partitions that stop here without waiting for their work: those that this node
   * refuses, or refused at its last report. Trouble that comes and goes, such as a full disk that
   * still takes small writes, must not delay a partition that others are about to run.
   */
  abandonedNumbers(): Set<number> {
    return this.refusedNumbers().union(this.#reportedRefusals);
  }

  /**
   * Whether this node should report to the other nodes now: it newly refuses a partition that it
   * holds, or, a session after the last report, still holds one or can run one again.
   */
  isReportDue(held: readonly number[]): boolean {
    const refused = this.refusedNumbers();
    const holds = held.filter((partition) => refused.has(partition));
    if (holds.some((partition) => !this.#reportedRefusals.has(partition))) return true;
    const isChanged = this.#reported.difference(this.#lackedNumbers()).size > 0;
    return (holds.length > 0 || isChanged) && this.#sinceReportMs >= this.#sessionMs;
  }

  /** Records that this node has reported its state to the other nodes. */
  reported(): void {
    this.#reported = this.#lackedNumbers();
    this.#reportedRefusals = this.refusedNumbers();
    this.#sinceReportMs = 0;
  }

  /** Returns the partitions that this node refuses, or would not run now. */
  #lackedNumbers(): Set<number> {
    const lacked = [...this.#observed].filter(([, it]) => it.isRefused || it.isTroubled);
    return new Set(lacked.map(([partition]) => partition));
  }

  #backoffMs({ refusals }: ObservedPartition): number {
    return Math.min(2 ** (refusals - 1), BACKOFF_SESSIONS_MAX) * this.#sessionMs;
  }
}

const newlyObserved = () => ({
  /** Milliseconds with trouble, minus the milliseconds without trouble. */
  troubledMs: 0,
  /** Time in milliseconds without interruption for which this node could have run the partition. */
  wellMs: 0,
  reason: "",
  /** Whether this node could not run the partition at the last observation. */
  isTroubled: false,
  isRefused: false,
  /** Number of refusals of the partition since its last long time without trouble. */
  refusals: 0,
});
