import { eventTypes } from "../../../src/event/record.ts";
import type { SdkBody } from "../../../src/event/sdk/body.ts";
import { eventAt } from "../../../src/event/sdk/event-facts.ts";
import {
  SDK_BATCH_EVENTS_MAX,
  SDK_EVENT_BYTES_MAX,
  SDK_EVENT_LEVELS_MAX,
} from "../../../src/settings/limits.ts";

/** A second implementation of `scanBody` on top of `JSON.parse`, for texts without size limits. */
type Json = Record<string, unknown>;

export function referenceBody(body: Buffer, isBatch: boolean) {
  let value: unknown;
  try {
    value = parsed(body.toString());
  } catch {
    return { status: 400 };
  }
  if (!isBatch) return { writeKey: stringIn(value, "writeKey"), facts: [factsOf(value, false)] };
  const { batch, context, integrations, sentAt } = isObject(value) ? value : ({} as Json);
  if (!Array.isArray(batch)) return { status: 400 };
  if (batch.length > SDK_BATCH_EVENTS_MAX) return { status: 413 };
  return {
    writeKey: stringIn(value, "writeKey"),
    context: isObject(context) ? context : undefined,
    integrations: isObject(integrations) ? integrations : undefined,
    sentAt: timeOf(sentAt),
    facts: batch.map((event) => factsOf(event, true)),
  };
}

/**
 * Like `JSON.parse`, but ids that are large integers become texts, since they keep all their
 * digits.
 */
function parsed(text: string): unknown {
  return JSON.parse(text, (name, value, { source }: { source?: string } = {}) => {
    const isId = name === "userId" || name === "anonymousId";
    const isLarge = typeof value === "number" && !Number.isSafeInteger(value);
    return isId && isLarge && /^-?[1-9][0-9]*$/.test(source ?? "") ? source : value;
  });
}

/** The facts of an event as the scanner found them. */
export function scannedBody(body: SdkBody, isBatch: boolean) {
  const textAt = (start: number, end: number) => body.bytes.toString("utf8", start, end);
  const facts = Array.from({ length: body.events }, (_, index) => {
    const { start, end, ...rest } = eventAt(index);
    return { event: parsed(textAt(start, end)), ...rest };
  });
  if (!isBatch) return { writeKey: body.writeKey, facts };
  const span = (it: SdkBody["context"]) => it && parsed(textAt(it.start, it.end));
  return {
    writeKey: body.writeKey,
    context: span(body.context),
    integrations: span(body.integrations),
    sentAt: body.sentAt,
    facts,
  };
}

function factsOf(event: unknown, isInBatch: boolean) {
  const it = isObject(event) ? event : {};
  const own = typeof it.type === "string" ? it.type.trim().toLowerCase() : "";
  const type = eventTypes.find((known) => known === own);
  const id = [it.userId, it.anonymousId].map(textOf).find((text) => text.trim() !== "");
  const isTooDeep = levelsOf(event) > SDK_EVENT_LEVELS_MAX;
  const problem = !isObject(event)
    ? "Expected the event to be a JSON object"
    : isTooDeep
      ? `Expected an event with at most ${SDK_EVENT_LEVELS_MAX} levels`
      : id === undefined
        ? "Request neither has anonymousId nor userId"
        : isInBatch && type === undefined
          ? `Expected an event type, one of ${eventTypes.join(", ")}`
          : undefined;
  return {
    event,
    problem,
    isTooDeep,
    type,
    hasMessageId: typeof it.messageId === "string" && it.messageId.trim() !== "",
    hasSentAt: isGiven(it.sentAt),
    hasContext: isGiven(it.context),
    hasIntegrations: isGiven(it.integrations),
    user: id === undefined || isTooDeep ? 0 : expectedHash(id),
  };
}

/** FNV-1a of the id's JSON text, then MurmurHash3's last steps, as for pixels. */
export function expectedHash(id: string): number {
  let hash = 0x811c9dc5n;
  for (const byte of new TextEncoder().encode(JSON.stringify(id).slice(1, -1))) {
    hash = BigInt.asUintN(32, (hash ^ BigInt(byte)) * 0x01000193n);
  }
  hash = BigInt.asUintN(32, (hash ^ (hash >> 16n)) * 0x85ebca6bn);
  hash = BigInt.asUintN(32, (hash ^ (hash >> 13n)) * 0xc2b2ae35n);
  return Number(hash ^ (hash >> 16n));
}

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isGiven = (value: unknown) => value !== undefined && value !== null;

const textOf = (id: unknown) =>
  typeof id === "string" || typeof id === "number" || typeof id === "boolean" ? String(id) : "";

function stringIn(value: unknown, name: string): string | undefined {
  const member = isObject(value) ? value[name] : undefined;
  return typeof member === "string" ? member : undefined;
}

const ISO_TIME =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

function timeOf(value: unknown): number | undefined {
  const parts = typeof value === "string" && value.length <= 38 ? ISO_TIME.exec(value) : null;
  if (parts === null) return undefined;
  const [, year, month, day, hours = "0", minutes = "0", seconds = "0", digits = ""] = parts;
  const [sign, offsetHours, offsetMinutes = "0"] = parts.slice(8);
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day))
    return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  if (Number(offsetHours ?? 0) > 23 || Number(offsetMinutes) > 59) return undefined;
  date.setUTCHours(Number(hours), Number(minutes), Number(seconds));
  const ms = Number(digits.slice(0, 3).padEnd(3, "0"));
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes)) * 60_000;
  const time = date.getTime() + ms - (sign === "-" ? -offset : offset);
  const ends = [Date.parse("0000-01-01"), Date.parse("9999-12-31T23:59:59.999Z")] as const;
  return time >= ends[0] && time <= ends[1] ? time : undefined;
}

function levelsOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf));
}

/** Whether no event is so large that it is refused for its size. */
export const isSmall = (body: Buffer) => body.length <= SDK_EVENT_BYTES_MAX;
