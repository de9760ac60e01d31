import type { PixelRecord } from "../event/record.ts";
import type { LogWriter } from "../log/event-log.ts";

/**
 * The sources of what went to the log since the server was last told. More than one answer may
 * name a source: what is being written may be durable with this answer or the next.
 */
export class WrittenSources {
  /** Of the records that go to the disk together, and whether they are there. */
  #flushes: { sources: Set<string>; isOver: boolean }[] = [];
  #writing: Promise<void> | undefined;

  /** The same log, and what goes to it is noted. */
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

  /** Of what was written since the last call, and of what is being written. */
  take(): Set<string> {
    const sources = new Set(this.#flushes.flatMap((flush) => [...flush.sources]));
    this.#flushes = this.#flushes.filter(({ isOver }) => !isOver);
    return sources;
  }

  /** Records with the same promise go together. */
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
