import type { LogEnd, PixelRecord } from "../../event/record.ts";
import { uuidText } from "../../event/uuid.ts";
import type { BuiltEvent, InputEvent } from "../model/input-event.ts";

/**
 * Bytes of cached events, with their records; older ones are built again on demand.
 */
const KEPT_EVENTS_BYTES_MAX = 8 << 20;

/**
 * Builds events, and caches the last ones, since lanes at the same position share them. The bytes
 * of
 * events and of records together are bounded: either can be hundreds of times the other.
 */
export class EventCache {
  readonly #build: (record: PixelRecord) => BuiltEvent;
  /**
   * Kept in two halves, of which the older is dropped as a whole: a Map that is used as a queue is
   * slow.
   */
  #young = new Map<PixelRecord, BuiltEvent>();
  #old = this.#young;
  #youngBytes = 0;

  constructor(build: (record: PixelRecord) => BuiltEvent) {
    this.#build = build;
  }

  get(record: PixelRecord): BuiltEvent {
    return this.#young.get(record) ?? this.#old.get(record) ?? this.#buildAndCache(record);
  }

  #buildAndCache(record: PixelRecord): BuiltEvent {
    const event = this.#build(record);
    this.#young.set(record, event);
    this.#youngBytes += event.json.length + record.query.length;
    if (this.#youngBytes < KEPT_EVENTS_BYTES_MAX / 2) return event;
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
    return event;
  }
}

export class RecordInput implements InputEvent {
  readonly sourceId: string;
  readonly receivedAt: number;
  readonly type: string;
  readonly #record: PixelRecord;
  readonly #events: EventCache;

  constructor(record: PixelRecord, events: EventCache) {
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
    return uuidText(this.#record.messageId);
  }

  /** The event. It is built again when it is not kept any more, and is always the same. */
  get event(): BuiltEvent {
    return this.#events.get(this.#record);
  }
}
