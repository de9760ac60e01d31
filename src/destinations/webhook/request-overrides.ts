import { cutText } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
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

/** Changes to a webhook request that user code makes with keys of the event, as in RudderStack. */
export interface RequestOverrides {
  /** URL that replaces the webhook's URL. */
  fullPath?: string;
  /** Text that is appended to the webhook's URL. */
  appendPath?: string;
  /** Headers by name in lower case. They replace headers of the config with the same names. */
  headers: Readonly<Record<string, string>>;
}

/** Keys of an event by which user code changes the request that delivers the event. */
export const overrideMembers = ["header", "appendPath", "fullPath"] as const;

/** An event with keys that override parts of the request that delivers it, such as the headers. */
export interface OverriddenEvent {
  /** JSON text of the event without the keys that override the request. */
  text: string;
  overrides: RequestOverrides;
}

const mayOverride = mayContainMembers(overrideMembers);

/**
 * Returns the changes that an event makes to its request, as in RudderStack's transformer;
 * undefined if it makes none. `text` is the event without the keys that took effect. Throws
 * `RequestBuildError` for invalid headers.
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

/**
 * Returns the batch key of an event: its request overrides as JSON. One request may contain several
 * events only if their batch keys are equal.
 */
export function overridesKey(event: OutgoingEvent): string {
  try {
    const overrides = overridesOf(event)?.overrides;
    return overrides === undefined ? "" : JSON.stringify(overrides);
  } catch {
    // Events with invalid overrides share one key, so they are refused together.
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

/**
 * Returns the object under the key `Webhook` in an event's `integrations`, or undefined. The case
 * of the key does not matter, as in RudderStack.
 */
function webhookOf(integrations: unknown): Record<string, unknown> | undefined {
  if (!isObject(integrations)) return undefined;
  const isOurs = ([key, value]: [string, unknown]) =>
    key.toLowerCase() === "webhook" && typeof value === "object" && value !== null;
  return Object.entries(integrations).find(isOurs)?.[1] as Record<string, unknown> | undefined;
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/**
 * Returns the headers in the value of an event's key `header`. Omits a header whose value is an
 * empty string. Converts a header's value to JSON if it is not a string.
 */
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
      throw new RequestBuildError(`${fault}, in header ${JSON.stringify(cutText(name, 64))}`);
    }
    headers[name.toLowerCase()] = text;
  }
  return headers;
}
