import type { BuiltEvent } from "../../src/event/built-event.ts";
import { eventOf } from "../../src/event/event.ts";
import { inspectQuery } from "../../src/event/inspect.ts";
import { eventRecordCodec, type PixelRecord, readRecord } from "../../src/event/record.ts";
import { exceedsLimits, pairsOf, referenceEvent, referenceProblem } from "./reference.ts";

export function recordOf(query: string, type: "page" | "track" = "page"): PixelRecord {
  return {
    type,
    receivedAt: Date.UTC(2026, 10, 20, 7, 31, 5, 123),
    sourceId: "source",
    clientAddress: "",
    messageId: Uint8Array.from({ length: 16 }, (_, i) => i * 17),
    query,
  };
}

/** Throws where the scanner and the reference differ about a query. */
export function checkAgreement(query: string, type: "page" | "track"): void {
  const inspection = inspectQuery(query, type);
  const isRefused = referenceProblem(query, type);
  same(inspection.problem !== undefined, isRefused, "refused", query);
  if (!isRefused) {
    const writeKey = pairsOf(query).find((pair) => pair.name === "writeKey")!.value;
    same(inspection.writeKey, writeKey, "write key", query);
  }
  if (exceedsLimits(query, type)) return;

  const record = recordOf(query, type);
  const event = eventOf(record);
  const json = new TextDecoder("utf-8", { fatal: true }).decode(event.json);
  same(json, referenceEvent(record), "event", query);
  const stored = { ...record, clientAddress: "192.0.2.1" };
  const built = eventOf(readRecord(encoded(stored)));
  same(show(built), show(eventOf(stored)), "event of the stored record", query);
  const parsed = JSON.parse(json);
  const user = parsed.userId?.trim() ? parsed.userId : (parsed.anonymousId ?? "");
  same(event.user, user, "user", query);
  same(event.name, type === "track" ? (parsed.event ?? "") : "", "event name", query);
  same(Object.hasOwn(parsed, "writeKey"), false, "write key in the event", query);
}

function encoded(record: PixelRecord): Buffer {
  const bytes = Buffer.alloc(eventRecordCodec.bytesMax(record));
  return bytes.subarray(0, eventRecordCodec.encode(record, bytes, 0));
}

function show({ json, ...rest }: BuiltEvent): string {
  return JSON.stringify({ ...rest, json: Buffer.from(json).toString() });
}

function same(actual: unknown, expected: unknown, what: string, query: string): void {
  if (actual === expected) return;
  const show = (value: unknown) => String(value).slice(0, 2_000);
  throw new Error(
    `${what} of ${show(query)}\nscanner:   ${show(actual)}\nreference: ${show(expected)}`,
  );
}
