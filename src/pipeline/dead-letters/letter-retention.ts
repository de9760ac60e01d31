import type { Logger } from "../../observe/log.ts";
import type { Clock } from "../clock.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { firstIdAt } from "../ledger/letter-keys.ts";
import type { LetterCount } from "../ledger/letter-tables.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";

/**
 * Bounds of the dead letters (undeliverable events) that are kept for each destination: largest
 * number, and largest age in milliseconds. 0 means unlimited.
 */
export interface DeadLetterBounds {
  countMax: number;
  ageMsMax: number;
}

interface Parts {
  bounds: DeadLetterBounds;
  ledger: Ledger;
  /**
   * Ledgers (stores of delivery progress) of all partitions, including `ledger`. A destination's
   * dead letters are distributed over all ledgers, and `countMax` applies to their total number.
   */
  ledgers(): readonly Pick<Ledger, "letters">[];
  clock: Pick<Clock, "age">;
  logger: Logger;
  metrics: Pick<LaneMetrics, "deadLettersDropped">;
}

/**
 * Creates the sweep that keeps each destination's dead letters within the bounds that the operator
 * has set, by deleting the oldest ones. By default there are no bounds.
 */
export function createDeadLetterRetention(parts: Parts) {
  const { bounds, ledger, clock, logger, metrics } = parts;
  let running: Promise<void> | undefined;
  let stopped = false;

  /**
   * Deletes up to `count` of a destination's dead letters, oldest first; with `before`, only
   * letters with smaller ids. `bound` is the name of the exceeded bound in the log line and in the
   * metric.
   */
  async function drop(of: LetterCount, bound: string, count: number, before?: string) {
    let dropped = 0;
    while (dropped < count && !stopped) {
      const lot = await ledger.dropOldest(of, { count: count - dropped, before });
      if (lot === 0) break;
      dropped += lot;
    }
    if (dropped === 0) return;
    metrics.deadLettersDropped.inc({ workspace: of.workspaceId, bound }, dropped);
    const about = { destinationId: of.destinationId, dropped, bound };
    logger.warn(about, "dead letters dropped");
  }

  async function sweep(): Promise<void> {
    const { countMax, ageMsMax } = bounds;
    for (const of of [...ledger.letters.counts()]) {
      // `age(0)` is the earliest time that it can be now: a clock that is ahead deletes nothing.
      if (ageMsMax > 0) await drop(of, "age", of.count, firstIdAt(clock.age(0) - ageMsMax));
      if (countMax > 0) await drop(of, "count", excessOf(of, countMax));
    }
  }

  /**
   * Returns how many of a destination's dead letters this ledger must delete: its share of the
   * excess over `countMax` in all ledgers together, in proportion to its number of letters and
   * rounded down.
   */
  function excessOf(of: LetterCount, countMax: number): number {
    const countIn = ({ letters }: Pick<Ledger, "letters">) => letters.countOf(of.workspaceId, of);
    const all = parts.ledgers().reduce((sum, it) => sum + countIn(it), 0);
    return all > countMax ? Math.floor(((all - countMax) * countIn(ledger)) / all) : 0;
  }

  return {
    /**
     * Deletes the dead letters of this ledger that exceed the bounds. If a sweep is running
     * already, starts no second one, and returns the promise of the running one.
     */
    run(): Promise<void> {
      running ??= sweep()
        .catch((error) => logger.error({ err: error }, "cannot drop dead letters"))
        .finally(() => {
          running = undefined;
        });
      return running;
    },
    async stop(): Promise<void> {
      stopped = true;
      await running;
    },
  };
}
