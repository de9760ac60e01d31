import { type EventRecord, type LogEnd, recordBytes } from "../../event/record.ts";
import { uuidText } from "../../event/uuid.ts";
import type { BuiltEvent, InputEvent } from "../model/input-event.ts";

/** Maximum number of bytes of the events that the cache keeps, together with their log records. */
const KEPT_EVENTS_BYTES_MAX = 8 << 20;

/**
 * Builds events from log records and keeps the latest ones, because several destinations usually
 * need the same event. `KEPT_EVENTS_BYTES_MAX` limits the bytes of these events and their records
 * together.
 */
export class EventCache {
  /**
   * The inputs that hold a cached event. When `#young` reaches half of `KEPT_EVENTS_BYTES_MAX`, the
   * inputs in `#old` drop their events and `#young` becomes `#old`.
   */
  #young: RecordInput[] = [];
  #old: RecordInput[] = [];
  #youngBytes = 0;

  constructor(private readonly eventOf: (record: EventRecord) => BuiltEvent) {}

  /**
   * Builds the event of a record, for `input` to hold. When the events that all inputs hold take
   * too much memory, this cache makes the inputs with the oldest events drop theirs.
   */
  build(record: EventRecord, input: RecordInput): BuiltEvent {
    const event = this.eventOf(record);
    this.#young.push(input);
    this.#youngBytes += event.json.length + recordBytes(record);
    if (this.#youngBytes < KEPT_EVENTS_BYTES_MAX / 2) return event;
    for (const old of this.#old) old.dropEvent();
    this.#old = this.#young;
    this.#young = [];
    this.#youngBytes = 0;
    return event;
  }
}

/** One record of a log, shared by the deliveries to all destinations. */
export class RecordInput implements InputEvent {
  readonly sequence: number;
  readonly sourceId: string;
  readonly receivedAt: number;
  readonly type: string;
  readonly #record: EventRecord;
  readonly #events: EventCache;
  #event: BuiltEvent | undefined;

  constructor(sequence: number, record: EventRecord, events: EventCache) {
    this.sequence = sequence;
    this.sourceId = record.sourceId;
    this.receivedAt = record.receivedAt;
    this.type = record.type;
    this.#record = record;
    this.#events = events;
  }

  get after(): readonly LogEnd[] | undefined {
    return this.#record.after;
  }

  get messageId(): string {
    const { messageId } = this.#record;
    return messageId === undefined ? (this.event.messageId ?? "") : uuidText(messageId);
  }

  /**
   * The event that is built from the record. It is built again, with the same result, when the
   * cache has dropped it.
   */
  get event(): BuiltEvent {
    this.#event ??= this.#events.build(this.#record, this);
    return this.#event;
  }

  /** Frees the memory of the event, which is built again when it is needed. */
  dropEvent(): void {
    this.#event = undefined;
  }
}
