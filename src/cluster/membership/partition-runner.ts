import { assert, InvariantError } from "../../assert.ts";
import type { Logger } from "../../observe/log.ts";
import { describeReadFailure } from "../topics/read-health.ts";

export interface PartitionRunnerOptions {
  /**
   * Starts delivery of the events of a partition. If it rejects, it is called again as long as the
   * partition is assigned to this node.
   */
  start(partition: number): Promise<void>;
  /**
   * Stops delivery of the events of a partition. If `drain` is true, first waits for deliveries in
   * flight. After the promise has resolved, no work for the partition runs.
   */
  stop(partition: number, drain: boolean): Promise<void>;
  /**
   * Makes all operations on the partition's ledger (its store of delivery progress) fail at once,
   * so that starts and stops do not wait for them. If this function is absent, a stop waits for the
   * operations.
   */
  abandon?(partition: number): void;
  logger: Logger;
}

/** Pause in milliseconds between two attempts to start a partition. */
const RETRY_MS = 1_000;
/** Time in milliseconds after which `stopped` lists an assigned partition that does not run. */
const LATE_MS = 5_000;

/** Partition that is assigned to this node and does not run here, with the reason. */
export interface StoppedPartition {
  partition: number;
  reason: string;
}

interface PartitionState {
  isAssigned: boolean;
  isRunning: boolean;
  /**
   * Request to stop the partition without waiting for its work in flight. If the partition is still
   * assigned, it is started again `afterMs` milliseconds later. Absent when there is no request.
   */
  restart?: { afterMs: number } | undefined;
  /**
   * Message of the broken invariant that stopped the partition. Absent when none did. While it is
   * present, the partition is not started. The end of the partition's assignment removes it.
   */
  failure?: string | undefined;
  /** Reason why the last attempt to start the partition failed; undefined if it succeeded. */
  startFailure?: string | undefined;
  /** Time (`performance.now()`) of the assignment or last stop; absent while the partition runs. */
  idleSince?: number | undefined;
  /** Promise of the start or stop in progress; undefined while there is none. */
  settling?: Promise<void> | undefined;
  /** Ends the pause before the partition's next start attempt. Absent when there is no pause. */
  wake?: (() => void) | undefined;
}

/**
 * Starts and stops delivery of partitions, so that this node runs exactly those assigned to it.
 * Each partition has at most one start or stop in progress.
 */
export class PartitionRunner {
  readonly #states = new Map<number, PartitionState>();
  #isClosed = false;

  constructor(private readonly options: PartitionRunnerOptions) {}

  /** Returns the numbers of the partitions that are assigned to this node, in ascending order. */
  assigned(): number[] {
    const found = [...this.#states].filter(([, { isAssigned }]) => isAssigned);
    return found.map(([partition]) => partition).sort((a, b) => a - b);
  }

  /** Returns the numbers of the partitions that run on this node, in ascending order. */
  running(): number[] {
    const found = [...this.#states].filter(([, { isRunning }]) => isRunning);
    return found.map(([partition]) => partition).sort((a, b) => a - b);
  }

  /** Returns whether the partition runs and no start or stop of it is in progress. */
  isSettled(partition: number): boolean {
    const state = this.#states.get(partition);
    return state?.isRunning === true && state.settling === undefined;
  }

  /** Whether the partition is assigned to this node and its last start failed. */
  cannotStart(partition: number): boolean {
    return this.#states.get(partition)?.startFailure !== undefined;
  }

  /** Returns the partitions that have been assigned and not running for at least `LATE_MS`. */
  stopped(now = performance.now()): StoppedPartition[] {
    const late = `it has not started within ${LATE_MS / 1_000} s`;
    return this.assigned().flatMap((partition) => {
      const { idleSince = now, failure, startFailure = late } = this.#states.get(partition)!;
      return now - idleSince < LATE_MS ? [] : [{ partition, reason: failure ?? startFailure }];
    });
  }

  /** Returns a sentence about a partition that a broken invariant stopped; undefined if none. */
  failure(): string | undefined {
    for (const [partition, { failure }] of this.#states) {
      if (failure !== undefined) return `Partition ${partition} has stopped: ${failure}`;
    }
    return undefined;
  }

  /**
   * Starts and stops partitions, so that this node runs exactly those in `partitions`. Resolves
   * when all others have stopped. Others in `refused` are stopped without waiting for their work in
   * flight, which this node may be unable to finish.
   */
  async assign(partitions: readonly number[], refused?: ReadonlySet<number>): Promise<void> {
    const assigned = new Set(this.#isClosed ? [] : partitions);
    for (const it of assigned) {
      if (this.#states.has(it)) continue;
      const idleSince = performance.now();
      this.#states.set(it, { isAssigned: false, isRunning: false, idleSince });
    }
    const stopping: (Promise<void> | undefined)[] = [];
    for (const [partition, state] of this.#states) {
      if (!assigned.has(partition)) state.failure = undefined;
      state.isAssigned = assigned.has(partition);
      if (!state.isAssigned && refused?.has(partition)) {
        state.restart = { afterMs: 0 };
        this.options.abandon?.(partition);
      }
      state.wake?.();
      this.#settle(partition, state);
      if (!state.isAssigned) stopping.push(state.settling);
    }
    await Promise.all(stopping);
  }

  /**
   * Stops a partition without waiting for its work in flight. Starts the partition again after
   * `afterMs` milliseconds if it is still assigned.
   */
  restart(partition: number, afterMs = 0): void {
    const state = this.#states.get(partition);
    if (state === undefined) return;
    state.restart = { afterMs };
    this.#settle(partition, state);
  }

  /** Stops all partitions without waiting for their work in flight. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.assign([]);
  }

  #settle(partition: number, state: PartitionState): void {
    if (state.settling !== undefined) return;
    if (isDue(state)) state.settling = this.#run(partition, state);
    else if (!state.isAssigned) this.#states.delete(partition);
  }

  async #run(partition: number, state: PartitionState): Promise<void> {
    while (isDue(state)) {
      if (state.isRunning) await this.#stop(partition, state);
      else await this.#start(partition, state);
    }
    state.settling = undefined;
    this.#settle(partition, state);
  }

  async #start(partition: number, state: PartitionState): Promise<void> {
    const { start, logger } = this.options;
    state.restart = undefined;
    try {
      assert(!state.isRunning, "A partition is started only while it does not run on this node");
      await start(partition);
      Object.assign(state, { isRunning: true, startFailure: undefined, idleSince: undefined });
    } catch (err) {
      if (err instanceof InvariantError) {
        state.failure = err.message;
        logger.error({ err, partition }, "partition stopped by a broken invariant");
        return;
      }
      state.startFailure = describeReadFailure(err);
      logger.error({ err, partition }, "partition start failed, retrying");
      if (state.isAssigned) await pause(state, RETRY_MS);
    }
  }

  async #stop(partition: number, state: PartitionState): Promise<void> {
    const { stop, logger } = this.options;
    const { restart } = state;
    state.restart = undefined;
    try {
      await stop(partition, restart === undefined && !this.#isClosed);
    } catch (err) {
      logger.error({ err, partition }, "partition stop failed");
    }
    Object.assign(state, { isRunning: false, idleSince: performance.now() });
    if (restart !== undefined && state.isAssigned) await pause(state, restart.afterMs);
  }
}

/**
 * Whether the partition must be started or stopped now, because of its assignment or a restart
 * request.
 */
function isDue({ isAssigned, isRunning, restart, failure }: PartitionState): boolean {
  if (isRunning) return !isAssigned || restart !== undefined;
  return isAssigned && failure === undefined;
}

async function pause(state: PartitionState, ms: number): Promise<void> {
  const woken = Promise.withResolvers<void>();
  state.wake = woken.resolve;
  await Promise.race([Bun.sleep(ms), woken.promise]);
  state.wake = undefined;
}
