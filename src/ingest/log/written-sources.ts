import type { EventRecord } from "../../event/record.ts";
import type { LogWriter } from "../../log/event-log.ts";

/**
 * Collects the source ids of appended records for the next report to the server. A source id may be
 * in two consecutive reports, because a record that is being written may become durable before or
 * after the next report.
 */
export class WrittenSources {
  /**
   * For each flush since the last report, the source ids of its records, and whether the flush has
   * ended.
   */
  #flushes: { sources: Set<string>; hasEnded: boolean }[] = [];
  #writing: Promise<void> | undefined;

  /** Returns a writer that appends to `log`, and adds records' source ids to the next report. */
  wrap(log: LogWriter<EventRecord>): LogWriter<EventRecord> {
    return {
      append: (record) => {
        const stored = log.append(record);
        this.#note(stored, record.sourceId);
        return stored;
      },
      appendAll: (records) => {
        const stored = log.appendAll(records);
        let noted: string | undefined;
        for (const { sourceId } of records) {
          // The events of a request have one source.
          if (sourceId !== noted) this.#note(stored, sourceId);
          noted = sourceId;
        }
        return stored;
      },
      durable: () => log.durable(),
      healthy: () => log.healthy(),
      failure: () => log.failure(),
      close: () => log.close(),
    };
  }

  /**
   * Returns the source ids of the records that were written since the last call, and of records
   * that are being written.
   */
  take(): Set<string> {
    const sources = new Set(this.#flushes.flatMap((flush) => [...flush.sources]));
    this.#flushes = this.#flushes.filter(({ hasEnded }) => !hasEnded);
    return sources;
  }

  /**
   * Adds the source id of a record to the next report. Records with the same promise `stored`
   * belong to one flush.
   */
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
