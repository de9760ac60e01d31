import type { EventRecord } from "../../event/record.ts";
import type { LogWriter } from "../../log/event-log.ts";

/**
 * Collects the source ids of appended records for reports about durable records. An id is in every
 * report made during its record's write, and in the next one, because any of these may be the first
 * to count the record as durable.
 */
export class WrittenSources {
  /** Source ids of records whose write has succeeded or failed since the last call of `take`. */
  #ended = new Set<string>();
  /** Source ids of the records that are being written, by the promise of their flush. */
  readonly #writing = new Map<Promise<void>, Set<string>>();

  /** Returns a writer that appends records to `log`, and keeps their source ids for `take`. */
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
   * Returns the source ids of the records that became durable or failed since the last call, and of
   * the records that are being written now.
   */
  take(): Set<string> {
    const sources = this.#ended;
    this.#ended = new Set();
    for (const flush of this.#writing.values()) for (const id of flush) sources.add(id);
    return sources;
  }

  /**
   * Adds the source id of a record to the next report. Records with the same promise `stored`
   * belong to one flush.
   */
  #note(stored: Promise<void>, sourceId: string): void {
    const known = this.#writing.get(stored);
    if (known !== undefined) {
      known.add(sourceId);
      return;
    }
    const sources = new Set([sourceId]);
    this.#writing.set(stored, sources);
    const end = () => {
      this.#writing.delete(stored);
      for (const id of sources) this.#ended.add(id);
    };
    stored.then(end, end);
  }
}
