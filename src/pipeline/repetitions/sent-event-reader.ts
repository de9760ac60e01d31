import {
  decodeRecord,
  isJson,
  isNewerRecord,
  isRefusedRecord,
  type JsonRecord,
  sourceOfRecord,
} from "../../event/record.ts";
import { loadText, stringText } from "../../json/json-scanner.ts";
import { ABSENT, memberSpans } from "../../json/member-names.ts";
import type { LogReader, LogRecord } from "../../log/event-log.ts";
import type { LogInput } from "../model/input-event.ts";

/** An event whose messageId was made by its client, not by pixelmill. */
export type SentEvent = Omit<LogInput, "type" | "event">;

const member = memberSpans(["messageId"]);

/**
 * Returns the event of an encoded record if its client made the messageId, because only such an
 * event can be sent twice. Returns undefined for all other records, also refused or unreadable ones
 * and those of sources that `isWanted` excludes.
 */
export function sentEvent(
  sequence: number,
  bytes: Uint8Array,
  isWanted: (sourceId: string) => boolean,
): SentEvent | undefined {
  if (!isJson(bytes) || isRefusedRecord(bytes)) return undefined;
  try {
    if (!isWanted(sourceOfRecord(bytes)!)) return undefined;
    const record = decodeRecord(bytes) as JsonRecord;
    if (record.messageId !== undefined) return undefined;
    const text = loadText(record.json);
    if (member.find(text, 0) < 0 || member.starts[0] === ABSENT) return undefined;
    const messageId = stringText(text, member.starts[0]!, member.ends[0]!);
    const { sourceId, receivedAt, after } = record;
    return { sequence, sourceId, messageId, receivedAt, after };
  } catch {
    // The lanes report a record that cannot be decoded.
    return undefined;
  }
}

/** Events of a log from position `from` (inclusive) to position `next` (exclusive). */
interface ReadEvents {
  from: number;
  next: number;
  events: readonly SentEvent[];
  /** Position of the first record that only a newer pixelmill can read; `next` if there is none. */
  knownUpTo: number;
}

const READ_BYTES = 256 << 10;

/**
 * Reads the events that the search for repeated events compares by messageId: the events for which
 * `sentEvent` returns a value.
 */
export class SentEventReader {
  /** Log → events that were read last. A search often continues within them. */
  readonly #last = new Map<string, ReadEvents>();

  constructor(private readonly isWanted: (sourceId: string) => boolean) {}

  /**
   * Returns a range of events that contains `position`. If the range that was read last contains
   * it, returns this range. Otherwise reads a range of the log from `position` on.
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
   * Clears the cache `#last`, so that events are read again. Called after `isWanted` has changed
   * its result for a source.
   */
  forget(): void {
    this.#last.clear();
  }
}
