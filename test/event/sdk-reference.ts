import { createHash } from "node:crypto";
import type { JsonRecord } from "../../src/event/record.ts";

/**
 * The rules of SDK events once more: by JSON.parse and objects, as close to their text as code can
 * be. The scanner's output must have the same value.
 */
export function referenceEvent(record: JsonRecord): Record<string, unknown> {
  const sent = JSON.parse(Buffer.from(record.json).toString());
  const event = { ...sent };
  delete event.writeKey;
  event.type = record.type;
  if (record.messageId !== undefined) {
    const hex = Buffer.from(record.messageId).toString("hex");
    event.messageId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
  event.context = isObject(sent.context) ? { ...sent.context } : {};
  if (record.clientAddress !== "" && !Object.hasOwn(event.context, "ip")) {
    event.context.ip = record.clientAddress;
  }
  event.integrations = isObject(sent.integrations) ? sent.integrations : { All: true };

  const now = record.receivedAt;
  const own = timeOf(sent.timestamp);
  const sentAt = timeOf(sent.sentAt) ?? (inRange(record.sentAt) ? record.sentAt! : now);
  const original = timeOf(sent.originalTimestamp) ?? own ?? sentAt;
  const corrected = now - (sentAt - original);
  event.originalTimestamp = new Date(original).toISOString();
  event.sentAt = new Date(sentAt).toISOString();
  event.receivedAt = new Date(now).toISOString();
  event.timestamp = new Date(own ?? (inRange(corrected) ? corrected : now)).toISOString();
  if (record.clientAddress === "") delete event.request_ip;
  else event.request_ip = record.clientAddress;
  event.rudderId = referenceRudderId(sent);
  return event;
}

/** The MD5 hash of both ids as a UUID. */
export function referenceRudderId({ userId, anonymousId }: Record<string, unknown>): string {
  const hash = createHash("md5")
    .update(`${textOfId(userId)}:${textOfId(anonymousId)}`)
    .digest();
  hash[6] = (hash[6]! % 16) + 64;
  hash[8] = (hash[8]! % 64) + 128;
  return hash.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

const textOfId = (id: unknown) =>
  ["string", "number", "boolean"].includes(typeof id) ? `${id}` : "";

/** The user of an event; numbers as JavaScript writes them. */
export function referenceUser(record: JsonRecord): string {
  const { userId, anonymousId } = JSON.parse(Buffer.from(record.json).toString());
  return textOfId(userId).trim() === "" ? textOfId(anonymousId) : textOfId(userId);
}

const form =
  /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(?:[Zz]|([+-])(\d\d)(?::?(\d\d))?)?)?$/;

/** A time in the form of ISO 8601, rounded down to milliseconds. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value !== "string" || value.length > 38) return undefined;
  const match = form.exec(value);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((it) => Number(it ?? 0));
  const ms = Number((match[7] ?? "0").slice(0, 3).padEnd(3, "0"));
  const date = new Date(0);
  date.setUTCFullYear(year!, month! - 1, day);
  date.setUTCHours(hour!, minute, second, ms);
  const fits =
    date.getUTCMonth() === month! - 1 &&
    date.getUTCDate() === day &&
    date.getUTCHours() === hour &&
    date.getUTCMinutes() === minute &&
    date.getUTCSeconds() === second;
  const [offsetHours, offsetMinutes] = [Number(match[9] ?? 0), Number(match[10] ?? 0)];
  if (!fits || offsetHours > 23 || offsetMinutes > 59) return undefined;
  const offset = (match[8] === "-" ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * 60_000;
  const time = date.getTime() - offset;
  return inRange(time) ? time : undefined;
}

function inRange(time: number | undefined): boolean {
  return time !== undefined && new Date(time).toISOString().length === 24;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The text of a JSON value with its names in order, to compare values. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}
