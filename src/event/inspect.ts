import {
  PIXEL_ARRAY_ELEMENTS_MAX,
  PIXEL_LEVELS_MAX,
  PIXEL_PARAMETERS_MAX,
} from "../settings/limits.ts";
import { isOverfull } from "./json/tree.ts";
import { decode, ends, loadQuery, pair, readPair, starts, text, textOf } from "./pair.ts";
import { readQuery } from "./scan.ts";
import { BACKSLASH, QUOTE, SPACE } from "./text/bytes.ts";
import { arrayIndex } from "./text/number.ts";
import { bytes, QUERY } from "./text/scratch.ts";
import type { Span } from "./text/span.ts";
import { userHash } from "./user-hash.ts";

/** Result of checking a query. */
export interface QueryInspection {
  /** Reason for which the query is refused, a sentence for the caller; undefined when it is valid. */
  problem: string | undefined;
  /** Empty when there is a problem. */
  writeKey: string;
  /** Hash of the event's user, by `userHash`; 0 when `wantsUser` is false. */
  user: number;
}

/** Spans of the query's ids in the scratch, as JSON text. */
const userId = { start: 0, end: 0 };
const anonymousId = { start: 0, end: 0 };

const encoder = new TextEncoder();
const WRITE_KEY = encoder.encode("writeKey");
const ANONYMOUS_ID = encoder.encode("anonymousId");
const USER_ID = encoder.encode("userId");
const EVENT = encoder.encode("event");

/**
 * Checks a query against the rules of the Pixel API, and finds its write key, in one pass and
 * without building the event. The query has at most 32,768 characters, all below U+0100.
 */
export function inspectQuery(
  query: string,
  type: "page" | "track",
  wantsUser = false,
): QueryInspection {
  const end = loadQuery(query);
  let parameters = 0;
  let elements = 0;
  let writeKey: string | undefined;
  let hasAnonymousId: boolean | undefined;
  let hasUserId: boolean | undefined;
  let event: boolean | undefined;
  let at = QUERY;
  while (at < end) {
    const from = at;
    at = readPair(from);
    if (at === from + 1) continue;
    if (++parameters > PIXEL_PARAMETERS_MAX) {
      return refusal(`Expected at most ${PIXEL_PARAMETERS_MAX} parameters`);
    }
    if (pair.levels > 1) {
      if (pair.levels > PIXEL_LEVELS_MAX) {
        return refusal(`Expected at most ${PIXEL_LEVELS_MAX} levels in a parameter name`);
      }
      elements += elementsMax();
    } else if (pair.levels === 1) {
      if (isNamed(WRITE_KEY)) writeKey ??= valueText(query);
      else if (isNamed(ANONYMOUS_ID)) hasAnonymousId ??= isPresentId(anonymousId, query, true);
      else if (isNamed(USER_ID)) hasUserId ??= isPresentId(userId, query, false);
      else if (isNamed(EVENT)) event ??= isPresent(query, false);
    }
  }
  if (writeKey === undefined || writeKey.trim() === "") {
    return refusal("Expected the query parameter writeKey");
  }
  if (hasAnonymousId !== true && hasUserId !== true) {
    return refusal("Request neither has anonymousId nor userId");
  }
  if (type === "track" && event !== true) {
    return refusal("Expected the query parameter event, which must not be blank");
  }
  if (elements > PIXEL_ARRAY_ELEMENTS_MAX && isOverfullQuery(query, type)) {
    return refusal(`Expected arrays of at most ${PIXEL_ARRAY_ELEMENTS_MAX} elements in all`);
  }
  if (!wantsUser) return { problem: undefined, writeKey, user: 0 };
  const isKnown = hasUserId === true;
  const user = isKnown ? userHash(userId.start, userId.end) : hashOfAnonymousId(anonymousId);
  return { problem: undefined, writeKey, user };
}

function refusal(problem: string): QueryInspection {
  return { problem, writeKey: "", user: 0 };
}

/**
 * Upper bound of the array elements that the last name adds: each of its indices may start a new
 * array.
 */
function elementsMax(): number {
  let elements = 0;
  for (let level = 1; level < pair.levels; level++) {
    elements += arrayIndex(bytes, starts[level]!, ends[level]!) + 1;
  }
  return elements;
}

/**
 * Whether the query's arrays exceed their limit. Array lengths depend on each other, so the
 * event has to be built; hardly any query reaches this step.
 */
function isOverfullQuery(query: string, type: "page" | "track"): boolean {
  readQuery(query, type);
  return isOverfull();
}

/** Whether the name read last has one component, which is `name`. */
function isNamed(name: Uint8Array): boolean {
  const start = starts[0]!;
  if (ends[0]! - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

/** The value read last, decoded. */
function valueText(query: string): string {
  if (!pair.encoded) return query.slice(pair.start - QUERY, pair.end - QUERY);
  decode(pair.start, pair.end);
  return textOf(text.start, text.end);
}

/** Whether the last value is a present id, as `isPresent` says; stores its span in `id`. */
function isPresentId(id: Span, query: string, isQuoted: boolean): boolean {
  const isFound = isPresent(query, isQuoted);
  const { start, end } = pair.encoded ? text : pair;
  id.start = start;
  id.end = end;
  return isFound;
}

/** The hash of an anonymousId, which may be an AMP client id in quotes. */
function hashOfAnonymousId({ start, end }: Span): number {
  const isInQuotes =
    end - start >= 4 &&
    bytes[start] === BACKSLASH &&
    bytes[start + 1] === QUOTE &&
    bytes[end - 2] === BACKSLASH &&
    bytes[end - 1] === QUOTE;
  return isInQuotes ? userHash(start + 2, end - 2) : userHash(start, end);
}

/**
 * Whether the last value is not blank, without the double quotes around an AMP client id. A plain
 * value that starts with a printable character is present: no string is built for it.
 */
function isPresent(query: string, isQuoted: boolean): boolean {
  if (!pair.encoded && pair.start < pair.end && bytes[pair.start]! > SPACE) return true;
  const value = valueText(query);
  const isInQuotes = isQuoted && value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return (isInQuotes ? value.slice(1, -1) : value).trim() !== "";
}
