import { isObject } from "../../is-object.ts";
import type { JsonRecord } from "../record/json-record.ts";
import type { EventTimes } from "./event-times.ts";

/** Names of members that the server writes itself or removes, such as `writeKey`. */
const OWNED = new Set([
  ...["type", "messageId", "originalTimestamp", "sentAt", "receivedAt", "timestamp"],
  ...["request_ip", "writeKey", "context", "integrations", "rudderId"],
]);

/**
 * Returns the JSON of an event, built with `JSON.parse` and `JSON.stringify`. Therefore only the
 * last of several members with the same name remains, and numbers are written as JavaScript writes
 * them.
 */
export function parsedEvent(
  json: Buffer,
  { type, clientAddress }: JsonRecord,
  messageId: string,
  rudderId: string,
  times: EventTimes,
): Uint8Array {
  const sent: Record<string, unknown> = JSON.parse(json.toString());
  const event: [string, unknown][] = [
    ["type", type],
    ["messageId", messageId],
    ...Object.entries(sent).filter(([name]) => !OWNED.has(name)),
    ["context", contextOf(sent.context, clientAddress)],
    ["integrations", isObject(sent.integrations) ? sent.integrations : { All: true }],
    ["originalTimestamp", isoText(times.originalTimestamp)],
    ["sentAt", isoText(times.sentAt)],
    ["receivedAt", isoText(times.receivedAt)],
    ["timestamp", isoText(times.timestamp)],
    ["rudderId", rudderId],
  ];
  if (clientAddress !== "") event.push(["request_ip", clientAddress]);
  // `Object.fromEntries` makes `__proto__` a member like any other.
  return new TextEncoder().encode(JSON.stringify(Object.fromEntries(event)));
}

function contextOf(context: unknown, address: string): Record<string, unknown> {
  const given = isObject(context) ? context : {};
  return address === "" || Object.hasOwn(given, "ip") ? given : { ...given, ip: address };
}

const isoText = (time: number): string => new Date(time).toISOString();
