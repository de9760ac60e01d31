import type { PixelRecord } from "../../event/record.ts";
import type { LogWriter } from "../../log/event-log.ts";

/**
 * The sources of the records that were appended since the server was last told. Two answers in a
 * row may name a source: a record that is being written may become durable with this answer or with
 * the next.
 */
export class WrittenSources {
  /** The sources of the records of one flush, and whether that flush is over. */
  #flushes: { sources: Set<string>; isOver: boolean }[] = [];
  #writing: Promise<void> | undefined;

  /** A view of the log that notes here whose records are appended through it. */
  noting(log: LogWriter<PixelRecord>): LogWriter<PixelRecord> {
    return {
      append: (record) => {
        const stored = log.append(record);
        this.#note(stored, record.sourceId);
        return stored;
      },
      durable: () => log.durable(),
      healthy: () => log.healthy(),
      close: () => log.close(),
    };
  }

  /** The sources of what was written since the last call, and of what is being written. */
  take(): Set<string> {
    const sources = new Set(this.#flushes.flatMap((flush) => [...flush.sources]));
    this.#flushes = this.#flushes.filter(({ isOver }) => !isOver);
    return sources;
  }

  /** Records with the same promise are of one flush. */
  #note(stored: Promise<void>, sourceId: string): void {
    if (stored !== this.#writing) {
      this.#writing = stored;
      const flush = { sources: new Set<string>(), isOver: false };
      this.#flushes.push(flush);
      const end = () => {
        flush.isOver = true;
      };
      stored.then(end, end);
    }
    this.#flushes.at(-1)!.sources.add(sourceId);
  }
}
