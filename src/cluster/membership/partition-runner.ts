import type { Logger } from "../../observe/log.ts";

export interface PartitionRunnerOptions {
  /**
   * A partition is this node's from here on; resolves when it runs. When it rejects, it is called
   * again while the partition stays this node's.
   */
  onAssigned(partition: number): Promise<void>;
  /** A partition is not this node's any more; resolves when nothing of it runs. */
  onRevoked(partition: number): Promise<void>;
  logger: Logger;
}

/** Between two attempts to run a partition. */
const RETRY_MS = 1_000;

interface Turn {
  wanted: boolean;
  runs: boolean;
  /** While it starts or stops; resolves when it is as it is wanted. */
  turning?: Promise<void>;
  /** Ends the wait for the next attempt. */
  wake?: () => void;
}

/**
 * Starts and stops the partitions of a node. Of one partition one call is under way at a time; one
 * that is taken and given back before its turn has come is not interrupted.
 */
export class PartitionRunner {
  readonly #options: PartitionRunnerOptions;
  readonly #turns = new Map<number, Turn>();

  constructor(options: PartitionRunnerOptions) {
    this.#options = options;
  }

  /** Those that run, or are about to, ascending. */
  wanted(): number[] {
    const found = [...this.#turns].filter(([, { wanted }]) => wanted);
    return found.map(([partition]) => partition).sort((a, b) => a - b);
  }

  /** These partitions and no others are to run; resolves when those that are not have ended. */
  async want(partitions: readonly number[]): Promise<void> {
    const wanted = new Set(partitions);
    for (const it of wanted) if (!this.#turns.has(it)) this.#turns.set(it, { ...IDLE });
    const ending: (Promise<void> | undefined)[] = [];
    for (const [partition, turn] of this.#turns) {
      turn.wanted = wanted.has(partition);
      turn.wake?.();
      if (turn.wanted !== turn.runs) turn.turning ??= this.#turn(partition, turn);
      if (!turn.wanted) ending.push(turn.turning);
    }
    await Promise.all(ending);
  }

  async #turn(partition: number, turn: Turn): Promise<void> {
    while (turn.wanted !== turn.runs) {
      if (turn.wanted) await this.#start(partition, turn);
      else await this.#stop(partition, turn);
    }
    delete turn.turning;
    if (!turn.runs) this.#turns.delete(partition);
  }

  async #start(partition: number, turn: Turn): Promise<void> {
    const { onAssigned, logger } = this.#options;
    try {
      await onAssigned(partition);
      turn.runs = true;
    } catch (err) {
      logger.error({ err, partition }, "A partition cannot be opened; it is tried again");
      const woken = new Promise<void>((resolve) => {
        turn.wake = resolve;
      });
      await Promise.race([Bun.sleep(RETRY_MS), woken]);
      delete turn.wake;
    }
  }

  async #stop(partition: number, turn: Turn): Promise<void> {
    const { onRevoked, logger } = this.#options;
    try {
      await onRevoked(partition);
    } catch (err) {
      logger.error({ err, partition }, "A partition was not closed as it should be");
    }
    turn.runs = false;
  }
}

const IDLE: Turn = { wanted: false, runs: false };
