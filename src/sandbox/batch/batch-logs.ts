import { GUEST_LOGS_CHARS_MAX, GUEST_LOGS_MAX } from "../../settings/limits.ts";
import type { LogLine } from "../program.ts";

/**
 * Collects the lines that user code writes with `log(...)` for a batch, from all attempts to run
 * its events.
 */
export class BatchLogs {
  readonly lines: LogLine[] = [];
  readonly #isKept: boolean;
  #chars = 0;

  constructor(isKept: boolean) {
    this.#isKept = isKept;
  }

  get linesLeft(): number {
    return this.#isKept ? GUEST_LOGS_MAX - this.lines.length : 0;
  }

  get charsLeft(): number {
    return Math.max(0, GUEST_LOGS_CHARS_MAX - this.#chars);
  }

  /**
   * Adds the lines of one attempt. `events` lists the events that the attempt ran, by their indexes
   * in the batch.
   */
  add(lines: readonly LogLine[], events: readonly number[]): void {
    for (const line of lines) {
      this.#chars += line.text.length;
      if (this.#chars > GUEST_LOGS_CHARS_MAX) return;
      // All lines of an attempt at one event belong to that event.
      const event = events.length === 1 ? events[0] : events[line.event ?? -1];
      this.lines.push(event === undefined ? line : { ...line, event });
    }
  }
}
