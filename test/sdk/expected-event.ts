import { referenceRudderId } from "../event/sdk-reference.ts";
import type { SeenRequest } from "./gate.ts";

const own = [
  ...["type", "messageId", "writeKey", "context", "integrations", "request_ip"],
  ...["originalTimestamp", "sentAt", "receivedAt", "timestamp", "rudderId"],
];

/** The events of a request, each with the members that it inherits from its batch. */
export function sentEvents({ path, body }: SeenRequest): any[] {
  if (!Array.isArray(body?.batch)) {
    const [, type] = /\/v1\/(\w+)/.exec(path) ?? [];
    return [{ ...body, type: typesByPath[type!] ?? type }];
  }
  const { context, integrations, sentAt } = body;
  return body.batch.map((event: any) => ({
    ...event,
    context: event.context ?? context,
    integrations: event.integrations ?? integrations,
    sentAt: event.sentAt ?? sentAt,
  }));
}

const typesByPath: Record<string, string> = {
  ...{ t: "track", p: "page", i: "identify", s: "screen", g: "group", a: "alias" },
};

/**
 * Returns the event that a destination must get when an SDK sent `sent`: all its members, and those
 * that the server adds. `receivedAt` is taken from the delivered event, since only the server knows
 * it.
 */
export function expectedEvent(sent: any, receivedAt: string): unknown {
  const others = Object.entries(sent).filter(([name]) => !own.includes(name));
  const iso = (time: number) => new Date(time).toISOString();
  const received = Date.parse(receivedAt);
  const sentAt = sent.sentAt === undefined ? received : Date.parse(sent.sentAt);
  const stated = sent.timestamp ? Date.parse(sent.timestamp) : undefined;
  const original = sent.originalTimestamp ? Date.parse(sent.originalTimestamp) : (stated ?? sentAt);
  return {
    ...Object.fromEntries(others),
    type: sent.type,
    messageId: sent.messageId,
    context: { ip: "127.0.0.1", ...sent.context },
    integrations: sent.integrations ?? { All: true },
    originalTimestamp: iso(original),
    sentAt: iso(sentAt),
    receivedAt,
    timestamp: iso(stated ?? received - (sentAt - original)),
    request_ip: "127.0.0.1",
    rudderId: referenceRudderId(sent),
  };
}
