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

/** What user code says in an event about the event's own request, as RudderStack's does. */
export interface RequestOverrides {
  /** Replaces the destination's URL. */
  fullPath?: string;
  /** What is appended to the URL. */
  appendPath?: string;
  /** By names in lower case; they win over the destination's. */
  headers: Readonly<Record<string, string>>;
}

/** The members of an event that shape its request. */
export const overrideMembers = ["header", "appendPath", "fullPath"] as const;

export interface OverriddenEvent {
  /** JSON text of the event, without what has shaped the request. */
  text: string;
  overrides: RequestOverrides;
}

const mayShape = mayContainMembers(overrideMembers);

/**
 * The request that an event asks for, as RudderStack's transformer reads it. `header` is taken out
 * of the event when it holds anything, the paths when one of them is a text; each may also stand in
 * `integrations.Webhook`, where it stays. Undefined when the event asks for nothing. Throws
 * `RequestBuildError`.
 */
export function overridesOf(event: OutgoingEvent): OverriddenEvent | undefined {
  // Only what user code made may shape its request.
  if (!event.byCode || !mayShape(event.bytes)) return undefined;
  const text = Buffer.from(event.bytes).toString();
  const { header, appendPath, fullPath, integrations } = shapingOf(text);
  const elsewhere = webhookOf(integrations);
  const taken = new Set<string>();
  const overrides: RequestOverrides = { headers: {} };
  if (header) {
    taken.add("header");
    overrides.headers = headersOf(header);
  }
  for (const [name, value] of Object.entries({ appendPath, fullPath })) {
    const path = [value, elsewhere?.[name]].find(isText);
    if (path === undefined) continue;
    taken.add(name);
    overrides[name as "appendPath" | "fullPath"] = path;
  }
  if (taken.size === 0) return undefined;
  return { text: withoutMembers(text, taken), overrides };
}

/** Texts that are equal for events that can share a request. */
export function overridesKey(event: OutgoingEvent): string {
  try {
    const overrides = overridesOf(event)?.overrides;
    return overrides === undefined ? "" : JSON.stringify(overrides);
  } catch {
    // Refused events are refused together.
    return "refused";
  }
}

function shapingOf(text: string): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  readMembers(text, tokenAt(text, 0), (key, valueStart) => {
    const end = valueEnd(text, valueStart);
    const isWanted = key === "integrations" || (overrideMembers as readonly string[]).includes(key);
    if (isWanted) found[key] = JSON.parse(text.slice(valueStart, end));
    return end;
  });
  return found;
}

/** The settings of this kind of destination among those of all; RudderStack writes it in many ways. */
function webhookOf(integrations: unknown): Record<string, unknown> | undefined {
  if (typeof integrations !== "object" || integrations === null) return undefined;
  for (const [key, value] of Object.entries(integrations)) {
    const isOurs = key.toLowerCase() === "webhook" && typeof value === "object";
    if (isOurs && value !== null) return value as Record<string, unknown>;
  }
  return undefined;
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";

/** Empty texts are left out; what is no text is written as JSON. */
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
