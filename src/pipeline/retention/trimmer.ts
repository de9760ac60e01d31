import type { LogReader } from "../../log/event-log.ts";
import type { Logger } from "../../observe/log.ts";
import type { Clock } from "../clock.ts";
import type { Retention } from "./retention.ts";

/** Age below which records are not trimmed: a connection that is being made may start there. */
export const TRIM_AGE_MS_MIN = 60_000;

interface TrimParts {
  readers: ReadonlyMap<string, LogReader>;
  lanes: { durableLow(log: string): number | undefined; checkpoint(): void };
  retention: Pick<Retention, "trimmable">;
  clock: Pick<Clock, "elapsed">;
  logger: Logger;
}

/**
 * Deletes records that every lane has passed durably and that retention does not keep. A connection
 * starts at the end that the log had at the request, and its lane appears a moment later. So only
 * records that were there a minute ago are deleted, and the start of a new lane is still there.
 */
export function createTrimmer({ readers, lanes, retention, clock, logger }: TrimParts) {
  /** Ends that each log had, oldest first, each with its time. */
  const seen = new Map<string, { at: number; end: number }[]>();
  const trimming = new Map<string, Promise<void>>();
  const stop = new AbortController();

  function agedEnd(log: string, end: number): number {
    const now = clock.elapsed();
    const marks = [...(seen.get(log) ?? []), { at: now, end }];
    const old = marks.filter((mark) => now - mark.at >= TRIM_AGE_MS_MIN);
    seen.set(log, marks.slice(Math.max(0, old.length - 1)));
    return old.at(-1)?.end ?? 0;
  }

  /** Position of a log's first record that a lane needs, or that is too young. */
  function passed(log: string, reader: LogReader): number {
    const end = agedEnd(log, reader.end());
    return Math.min(end, lanes.durableLow(log) ?? end);
  }

  async function trim(log: string, reader: LogReader, below: number): Promise<void> {
    try {
      if (below > reader.first()) await reader.trim(below, stop.signal);
    } catch (error) {
      logger.error({ log, err: error }, "cannot trim the event log");
    }
  }

  /**
   * Trims one log; while a trim of the log is under way, resolves with that: a backlog of segments
   * takes minutes.
   */
  function trimOnce(log: string, reader: LogReader, below: number): Promise<void> {
    const running =
      trimming.get(log) ?? trim(log, reader, below).finally(() => trimming.delete(log));
    trimming.set(log, running);
    return running;
  }

  return {
    /** Trims every log; resolves when all are trimmed. */
    async run(): Promise<void> {
      lanes.checkpoint();
      const below = new Map(Array.from(readers, ([log, it]) => [log, passed(log, it)]));
      const trimmable = await retention.trimmable(below);
      if (stop.signal.aborted) return;
      await Promise.all(
        Array.from(readers, ([log, reader]) => trimOnce(log, reader, trimmable.get(log) ?? 0)),
      );
    },
    /** Ends the trims under way after their current segment; resolves when they have ended. */
    async stop(): Promise<void> {
      stop.abort();
      await Promise.all(trimming.values());
    },
  };
}
