import { GUEST_LOGS_CHARS_MAX, GUEST_LOGS_MAX } from "../../settings/limits.ts";
import type { LogLine } from "../program.ts";

/** The lines of `log(...)` that a batch keeps, over all attempts at its events. */
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

  /** Adds the lines of an attempt at `events`, which are indexes in the batch. */
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
