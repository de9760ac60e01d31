import type { OutgoingEvent } from "../destination.ts";
import {
  mayContainMembers,
  readMembers,
  tokenAt,
  valueEnd,
  withoutMembers,
} from "../formats/json-members.ts";
import { headerNameFault, headerValueFault } from "./headers.ts";
import { WEBHOOK_HEADERS_MAX } from "./limits.ts";
import { RequestBuildError } from "./request-build-error.ts";

/** Parts of a request that user code sets in the event, as in RudderStack. */
export interface RequestOverrides {
  /** URL that replaces the destination's. */
  fullPath?: string;
  /** Text that is appended to the URL. */
  appendPath?: string;
  /** Headers by name in lower case; they replace those of the destination. */
  headers: Readonly<Record<string, string>>;
}

/** Members of an event that override its request. */
export const overrideMembers = ["header", "appendPath", "fullPath"] as const;

/** An event that overrides its request. */
export interface OverriddenEvent {
  /** JSON text of the event without the members that override the request. */
  text: string;
  overrides: RequestOverrides;
}

const mayOverride = mayContainMembers(overrideMembers);

/**
 * Reads the overrides of an event, as RudderStack's transformer does. Removes `header` from the event
 * if it is not empty, and `appendPath` and `fullPath` if they are texts; the paths may also be in
 * `integrations.Webhook`, where they stay. Undefined when there are no overrides. Throws
 * `RequestBuildError`.
 */
export function overridesOf(event: OutgoingEvent): OverriddenEvent | undefined {
  // Only user code may override a request: clients are unauthenticated.
  if (!event.byCode || !mayOverride(event.bytes)) return undefined;
  const text = Buffer.from(event.bytes).toString();
  const { header, appendPath, fullPath, integrations } = overrideMembersOf(text);
  const integration = webhookOf(integrations);
  const removed = new Set<string>();
  const overrides: RequestOverrides = { headers: {} };
  if (header) {
    removed.add("header");
    overrides.headers = headersOf(header);
  }
  for (const [name, value] of Object.entries({ appendPath, fullPath })) {
    const path = [value, integration?.[name]].find(isText);
    if (path === undefined) continue;
    removed.add(name);
    overrides[name as "appendPath" | "fullPath"] = path;
  }
  if (removed.size === 0) return undefined;
  return { text: withoutMembers(text, removed), overrides };
}

/** The batch key of an event: equal for events that can share a request. */
export function overridesKey(event: OutgoingEvent): string {
  try {
    const overrides = overridesOf(event)?.overrides;
    return overrides === undefined ? "" : JSON.stringify(overrides);
  } catch {
    // Events with invalid overrides are refused together.
    return "refused";
  }
}

function overrideMembersOf(text: string): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  readMembers(text, tokenAt(text, 0), (key, valueStart) => {
    const end = valueEnd(text, valueStart);
    const isWanted = key === "integrations" || (overrideMembers as readonly string[]).includes(key);
    if (isWanted) members[key] = JSON.parse(text.slice(valueStart, end));
    return end;
  });
  return members;
}

/** The member `Webhook` of `integrations`, which RudderStack writes in any case. */
function webhookOf(integrations: unknown): Record<string, unknown> | undefined {
  if (typeof integrations !== "object" || integrations === null) return undefined;
  for (const [key, value] of Object.entries(integrations)) {
    const isOurs = key.toLowerCase() === "webhook" && typeof value === "object";
    if (isOurs && value !== null) return value as Record<string, unknown>;
  }
  return undefined;
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** Reads headers: skips empty texts, and writes other values as JSON. */
function headersOf(header: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  if (typeof header !== "object" || header === null) return headers;
  const given = Object.entries(header).filter(([, value]) => value !== "");
  if (given.length > WEBHOOK_HEADERS_MAX) {
    throw new RequestBuildError(
      `Expected header with at most ${WEBHOOK_HEADERS_MAX} names, got ${given.length}`,
    );
  }
  for (const [name, value] of given) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const fault = headerNameFault(name) ?? headerValueFault(text);
    if (fault !== undefined) {
      throw new RequestBuildError(`${fault}, in header ${JSON.stringify(name.slice(0, 64))}`);
    }
    headers[name.toLowerCase()] = text;
  }
  return headers;
}
