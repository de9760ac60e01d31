import type { LogReader } from "../../log/event-log.ts";
import type { Logger } from "../../observe/log.ts";
import type { Clock } from "../clock.ts";
import type { Retention } from "./retention.ts";

/**
 * Age in milliseconds that a record must have before it may be deleted from the log, because a
 * connection (of a source with a destination) that is being created may begin at a younger record.
 */
export const TRIM_AGE_MS_MIN = 60_000;

interface TrimParts {
  readers: ReadonlyMap<string, LogReader>;
  lanes: {
    durableLow(log: string): number | undefined;
    checkpoint(trimEnds: ReadonlyMap<string, number>): void;
  };
  retention: Pick<Retention, "trimmable" | "isDiskNearlyFull">;
  /**
   * Returns the position from which a log must keep its records, even those that all deliveries
   * have read. The search for repeated events needs such records. The position is ignored while the
   * disk is nearly full.
   */
  keptFrom?(log: string): Promise<number>;
  clock: Pick<Clock, "elapsed">;
  logger: Logger;
}

/**
 * Creates the job that deletes log records that no delivery reads again, even after a restart, and
 * that retention does not keep. Records younger than `TRIM_AGE_MS_MIN` stay, because a connection
 * that is being created may need them.
 */
export function createTrimmer(parts: TrimParts) {
  const { readers, lanes, retention, clock, logger } = parts;
  /** Log → ends that the log had earlier, each with the time at which it was read; oldest first. */
  const seen = new Map<string, { at: number; end: number }[]>();
  const trimming = new Map<string, Promise<void>>();
  const stop = new AbortController();

  /**
   * Returns the end that a log had at least `TRIM_AGE_MS_MIN` ago; 0 if no such end was recorded.
   * Also records `end`, the present end of the log.
   */
  function agedEnd(log: string, end: number): number {
    const now = clock.elapsed();
    const marks = [...(seen.get(log) ?? []), { at: now, end }];
    const old = marks.filter((mark) => now - mark.at >= TRIM_AGE_MS_MIN);
    seen.set(log, marks.slice(Math.max(0, old.length - 1)));
    return old.at(-1)?.end ?? 0;
  }

  async function trim(log: string, reader: LogReader, below: number): Promise<void> {
    try {
      if (below > reader.first()) await reader.trim(below, stop.signal);
    } catch (error) {
      logger.error({ log, err: error }, "cannot trim the event log");
    }
  }

  /**
   * Deletes a log's records before `below`. If an earlier deletion in the log is still running,
   * starts no other and returns the promise of the earlier one. A deletion can take minutes, if it
   * comprises many segments.
   */
  function trimOnce(log: string, reader: LogReader, below: number): Promise<void> {
    const running =
      trimming.get(log) ?? trim(log, reader, below).finally(() => trimming.delete(log));
    trimming.set(log, running);
    return running;
  }

  /**
   * Lowers each position in `below` to the one that `keptFrom` returns for the log. If `keptFrom`
   * fails for a log, sets its position to 0, so that none of its records are deleted.
   */
  async function lowerToKept(below: Map<string, number>): Promise<void> {
    for (const [log, position] of below) {
      try {
        below.set(log, Math.min(position, (await parts.keptFrom?.(log)) ?? position));
      } catch (error) {
        logger.error(
          { log, err: error },
          "cannot find the records that the search for repeated events needs; this log is not trimmed",
        );
        below.set(log, 0);
      }
    }
  }

  async function trimAll(): Promise<void> {
    const ends = new Map(Array.from(readers, ([log, it]) => [log, agedEnd(log, it.end())]));
    lanes.checkpoint(ends);
    // No delivery needs the records below, which are all at least a minute old.
    const below = new Map(
      Array.from(ends, ([log, end]) => [log, Math.min(end, lanes.durableLow(log) ?? end)]),
    );
    if (!retention.isDiskNearlyFull) await lowerToKept(below);
    const trimmable = await retention.trimmable(below);
    if (stop.signal.aborted) return;
    await Promise.all(
      Array.from(readers, ([log, reader]) => trimOnce(log, reader, trimmable.get(log) ?? 0)),
    );
  }

  return {
    /**
     * Deletes the log records that no delivery needs and that retention does not keep. Resolves
     * when done. If the logs cannot be listed, such as while the process has too many open files,
     * deletes nothing.
     */
    async run(): Promise<void> {
      await trimAll().catch((error) => logger.error({ err: error }, "cannot trim the event logs"));
    },
    /**
     * Starts no further deletion of log segments (files). Resolves when the deletions in progress
     * have ended.
     */
    async stop(): Promise<void> {
      stop.abort();
      await Promise.all(trimming.values());
    },
  };
}
