import { BACKSLASH, QUOTE, SPACE } from "../json/bytes.ts";
import {
  PIXEL_ARRAY_GAPS_MAX,
  PIXEL_LEVELS_MAX,
  PIXEL_PARAMETERS_MAX,
} from "../settings/limits.ts";
import { arrayGaps } from "./json/tree.ts";
import { decode, ends, loadQuery, pair, readPair, starts, text, textOf } from "./pair.ts";
import { readQuery } from "./scan.ts";
import { arrayIndex } from "./text/number.ts";
import { bytes, QUERY, type Span } from "./text/scratch.ts";
import { userHash } from "./user-hash.ts";

/** Result of checking the query string of a request to the Pixel API. */
interface QueryInspection {
  /** Sentence that tells the client why the query is refused. Undefined if the query is valid. */
  problem: string | undefined;
  /** The write key in the query; empty when the query is refused. */
  writeKey: string;
  /**
   * Hash of the event's user, computed by `userHash`. It is 0 if the caller did not set
   * `wantsUser`, or if the query is refused.
   */
  user: number;
}

/**
 * Span of the scratch buffer (preallocated working memory) that contains the userId as JSON text,
 * from offset `start` to offset `end`.
 */
const userId = { start: 0, end: 0 };
const anonymousId = { start: 0, end: 0 };

const encoder = new TextEncoder();
const WRITE_KEY = encoder.encode("writeKey");
const ANONYMOUS_ID = encoder.encode("anonymousId");
const USER_ID = encoder.encode("userId");
const EVENT = encoder.encode("event");

/**
 * Checks a query string against the rules of the Pixel API, and extracts its write key and, if
 * `wantsUser`, the user hash. The query must have at most 32,768 characters, all below U+0100.
 */
export function inspectQuery(
  query: string,
  type: "page" | "track",
  wantsUser = false,
): QueryInspection {
  const end = loadQuery(query);
  let parameters = 0;
  let gaps = 0;
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
      gaps += gapsMax();
    } else if (pair.levels === 1) {
      if (isFirstComponent(WRITE_KEY)) writeKey ??= valueText(query);
      else if (isFirstComponent(ANONYMOUS_ID))
        hasAnonymousId ??= isPresentId(anonymousId, query, true);
      else if (isFirstComponent(USER_ID)) hasUserId ??= isPresentId(userId, query, false);
      else if (isFirstComponent(EVENT)) event ??= isPresent(query, false);
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
  // The user is hashed before `gapsOf` overwrites the decoded ids.
  const user = wantsUser ? hashOfUser(hasUserId === true) : 0;
  if (gaps > PIXEL_ARRAY_GAPS_MAX && gapsOf(query, type) > PIXEL_ARRAY_GAPS_MAX) {
    return refusal(`Expected arrays with at most ${PIXEL_ARRAY_GAPS_MAX} gaps in all`);
  }
  return { problem: undefined, writeKey, user };
}

function refusal(problem: string): QueryInspection {
  return { problem, writeKey: "", user: 0 };
}

/**
 * Returns an upper bound for the gaps (array elements that no parameter sets) that the parameter
 * read last by `readPair` adds: the sum of the array indices in its name.
 */
function gapsMax(): number {
  let gaps = 0;
  for (let level = 1; level < pair.levels; level++) {
    gaps += Math.max(0, arrayIndex(bytes, starts[level]!, ends[level]!));
  }
  return gaps;
}

/**
 * Counts the gaps in a query's arrays: elements that no parameter sets, such as element 0 when only
 * `a.1` is set. It builds the event, which is slow, because a later parameter may fill a gap.
 */
function gapsOf(query: string, type: "page" | "track"): number {
  readQuery(query, type);
  return arrayGaps();
}

/**
 * Whether `name` is the first component (as `context` in `context.ip`) of the parameter name that
 * `readPair` read last.
 */
function isFirstComponent(name: Uint8Array): boolean {
  const start = starts[0]!;
  if (ends[0]! - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name[i]) return false;
  return true;
}

/** Returns the decoded value of the parameter that `readPair` has read last. */
function valueText(query: string): string {
  if (!pair.encoded) return query.slice(pair.start - QUERY, pair.end - QUERY);
  decode(pair.start, pair.end);
  return textOf(text.start, text.end);
}

/**
 * Whether the parameter that `readPair` read last has a value that is not blank. If `isQuoted`,
 * double quotes around it do not count. Stores in `id` where the value starts and ends in the
 * scratch buffer.
 */
function isPresentId(id: Span, query: string, isQuoted: boolean): boolean {
  const isFound = isPresent(query, isQuoted);
  const { start, end } = pair.encoded ? text : pair;
  id.start = start;
  id.end = end;
  return isFound;
}

/**
 * Returns the user hash of the userId or, if there is none, of the anonymousId. Double quotes
 * around an anonymousId (an AMP client id) do not affect the hash.
 */
function hashOfUser(hasUserId: boolean): number {
  const { start, end } = hasUserId ? userId : anonymousId;
  const isInQuotes =
    !hasUserId &&
    end - start >= 4 &&
    bytes[start] === BACKSLASH &&
    bytes[start + 1] === QUOTE &&
    bytes[end - 2] === BACKSLASH &&
    bytes[end - 1] === QUOTE;
  return isInQuotes ? userHash(bytes, start + 2, end - 2) : userHash(bytes, start, end);
}

/**
 * Whether the value of the parameter that `readPair` has read last is not blank. If `isQuoted`,
 * double quotes around the value (an AMP client id) do not count.
 */
function isPresent(query: string, isQuoted: boolean): boolean {
  if (!pair.encoded && pair.start < pair.end && bytes[pair.start]! > SPACE) return true;
  const value = valueText(query);
  const isInQuotes = isQuoted && value.length > 1 && value.startsWith('"') && value.endsWith('"');
  return (isInQuotes ? value.slice(1, -1) : value).trim() !== "";
}
