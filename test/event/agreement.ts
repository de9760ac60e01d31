import { eventOf } from "../../src/event/event.ts";
import { inspectQuery } from "../../src/event/inspect.ts";
import type { PixelRecord } from "../../src/event/record.ts";
import { pairsOf, referenceEvent, referenceProblem } from "./reference.ts";

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
  const pairs = pairsOf(query);
  if (!isRefused) {
    const writeKey = pairs.find((pair) => pair.name === "writeKey")!.value;
    same(inspection.writeKey, writeKey, "write key", query);
  }
  if (pairs.length > 1_000 || pairs.some((pair) => pair.name.split(".").length > 16)) return;

  const record = recordOf(query, type);
  const event = eventOf(record);
  const json = new TextDecoder("utf-8", { fatal: true }).decode(event.json);
  same(json, referenceEvent(record), "event", query);
  const parsed = JSON.parse(json);
  const user = parsed.userId ?? parsed.anonymousId;
  if (user !== undefined) same(event.user, user, "user", query);
  same(event.name, type === "track" ? (parsed.event ?? "") : "", "event name", query);
  same(Object.hasOwn(parsed, "writeKey"), false, "write key in the event", query);
}

function same(actual: unknown, expected: unknown, what: string, query: string): void {
  if (actual === expected) return;
  throw new Error(`${what} of ${query}\nscanner:   ${actual}\nreference: ${expected}`);
}
