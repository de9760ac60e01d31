import type { PixelRecord } from "../../event/record.ts";
import type { LogWriter } from "../../log/event-log.ts";

/**
 * Sources of the records appended since the last report to the server. Two reports in a row may name
 * a source: a record that is being written may become durable with either.
 */
export class WrittenSources {
  /** Sources by flush, and whether that flush has ended. */
  #flushes: { sources: Set<string>; hasEnded: boolean }[] = [];
  #writing: Promise<void> | undefined;

  /** Wraps a log writer so that the sources of its records are noted here. */
  wrap(log: LogWriter<PixelRecord>): LogWriter<PixelRecord> {
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

  /** Sources of the records written since the last call, and of those being written. */
  take(): Set<string> {
    const sources = new Set(this.#flushes.flatMap((flush) => [...flush.sources]));
    this.#flushes = this.#flushes.filter(({ hasEnded }) => !hasEnded);
    return sources;
  }

  /** Notes the source of a record; records with the same promise belong to one flush. */
  #note(stored: Promise<void>, sourceId: string): void {
    if (stored !== this.#writing) {
      this.#writing = stored;
      const flush = { sources: new Set<string>(), hasEnded: false };
      this.#flushes.push(flush);
      const end = () => {
        flush.hasEnded = true;
      };
      stored.then(end, end);
    }
    this.#flushes.at(-1)!.sources.add(sourceId);
  }
}
