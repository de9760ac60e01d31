import type { PixelRecord } from "../event/record.ts";

/** An event as `event/` builds it from a record. */
export interface BuiltEvent {
  json: Uint8Array;
  /** Events with the same key keep their order. */
  user: string;
  /** Event name of a track event, page name of a page. */
  name?: string | undefined;
}

/** One event as it enters a lane. Lanes share it; what costs is made once, when first asked for. */
export interface Input {
  readonly messageId: string;
  readonly sourceId: string;
  readonly receivedAt: number;
  readonly type: string;
  readonly event: BuiltEvent;
}

export class RecordInput implements Input {
  readonly sourceId: string;
  readonly receivedAt: number;
  readonly type: string;
  readonly #record: PixelRecord;
  readonly #build: (record: PixelRecord) => BuiltEvent;
  #event: BuiltEvent | undefined;

  constructor(record: PixelRecord, build: (record: PixelRecord) => BuiltEvent) {
    this.sourceId = record.sourceId;
    this.receivedAt = record.receivedAt;
    this.type = record.type;
    this.#record = record;
    this.#build = build;
  }

  get messageId(): string {
    return uuidText(this.#record.messageId);
  }

  get event(): BuiltEvent {
    this.#event ??= this.#build(this.#record);
    return this.#event;
  }
}

/** 16 bytes as `8-4-4-4-12` hexadecimal digits. */
export function uuidText(bytes: Uint8Array): string {
  const hex = bytes.toHex();
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${a}-${b}-${c}-${d}-${hex.slice(20)}`;
}

/** The value of a JSON text, or the text itself should it be none: showing must not fail. */
export function jsonOf(json: Uint8Array | string): unknown {
  const text = typeof json === "string" ? json : Buffer.from(json).toString();
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
