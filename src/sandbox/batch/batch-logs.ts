import { GUEST_LOGS_CHARS_MAX, GUEST_LOGS_MAX } from "../../settings/limits.ts";
import type { LogLine, LogSink } from "../program.ts";

/**
 * Limits of the log lines that are kept for a batch: their number (`lines`), and their total size
 * in UTF-16 units (`chars`).
 */
export type LogBounds = Pick<LogSink, "lines" | "chars">;

/** Bounds of the log lines in the result of a test run. */
export const testLogs: LogBounds = { lines: GUEST_LOGS_MAX, chars: GUEST_LOGS_CHARS_MAX };
/** Log sink that accepts no lines. */
export const noLogs: LogSink = { lines: 0, chars: 0, take() {} };

/**
 * Collects the lines that user code writes with `log(...)` for a batch, from all attempts to run
 * its events.
 */
export class BatchLogs {
  readonly lines: LogLine[] = [];
  #chars = 0;

  constructor(private readonly bounds: LogBounds) {}

  get linesLeft(): number {
    return this.bounds.lines - this.lines.length;
  }

  get charsLeft(): number {
    return Math.max(0, this.bounds.chars - this.#chars);
  }

  /**
   * Adds the log lines of one attempt. `events` has the events of the attempt, as indexes in the
   * batch.
   */
  add(lines: readonly LogLine[], events: readonly number[]): void {
    for (const line of lines) {
      this.#chars += line.text.length;
      if (this.#chars > this.bounds.chars) return;
      // All lines of an attempt at one event belong to that event.
      const event = events.length === 1 ? events[0] : events[line.event ?? -1];
      this.lines.push(event === undefined ? line : { ...line, event });
    }
  }
}
