import type { LogEnd, PixelRecord } from "../../event/record.ts";
import { uuidText } from "../../event/uuid.ts";
import type { BuiltEvent, InputEvent } from "../model/input-event.ts";

/** Largest total size in bytes of the cached events and their query strings. */
const KEPT_EVENTS_BYTES_MAX = 8 << 20;

/**
 * Builds events from log records and caches the most recent ones, because the deliveries to several
 * destinations use the same events. Bounds the bytes of both the events and the records, since
 * either can be hundreds of times larger than the other.
 */
export class EventCache {
  readonly #build: (record: PixelRecord) => BuiltEvent;
  /**
   * The newer half of the cache; `#old` is the older half. When the newer half is full, the older
   * one is dropped as a whole. This is faster than removing entries one by one from a Map.
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

  /**
   * The event built from the record. It is built again when the cache has dropped it, with the same
   * result.
   */
  get event(): BuiltEvent {
    return this.#events.get(this.#record);
  }
}
