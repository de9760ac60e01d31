import { isNewerRecord } from "../../event/record.ts";
import type { LogReader, LogRecord } from "../../log/event-log.ts";
import { type SentEvent, sentEvent } from "./sent-event.ts";

/** Events of a log with positions from `from`, inclusive, to `next`, exclusive. */
interface ReadEvents {
  from: number;
  next: number;
  events: readonly SentEvent[];
  /** Position of the first record that only a newer pixelmill can read; `next` if there is none. */
  knownUpTo: number;
}

const READ_BYTES = 256 << 10;

/**
 * Reads from logs the events that are compared by messageId to find repeated events. `sentEvent`
 * decides which events these are.
 */
export class SentEventReader {
  /** Log → events that were read last. A search often continues within them. */
  readonly #last = new Map<string, ReadEvents>();

  constructor(private readonly isWanted: (sourceId: string) => boolean) {}

  /**
   * Returns a range of events that contains `position`. This is the range that was read last if it
   * contains the position, or else a range that is read now, from `position` on.
   */
  async read(log: string, reader: LogReader, position: number): Promise<ReadEvents> {
    const last = this.#last.get(log);
    if (last !== undefined && last.from <= position && position < last.knownUpTo) return last;
    const { records, next } = await reader.read(position, READ_BYTES);
    const events = records
      .map(({ sequence, bytes }) => sentEvent(sequence, bytes, this.isWanted))
      .filter((event) => event !== undefined);
    const isNewer = ({ sequence, bytes }: LogRecord) =>
      sequence >= position && isNewerRecord(bytes);
    const knownUpTo = records.find(isNewer)?.sequence ?? next;
    const read = { from: position, next, events, knownUpTo };
    this.#last.set(log, read);
    return read;
  }

  /**
   * Clears the cache of the events that were read last, so that they are read again. Called after
   * `isWanted` has changed its result for a source.
   */
  forget(): void {
    this.#last.clear();
  }
}
