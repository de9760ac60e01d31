import { isUtf8 } from "node:buffer";
import type { BodyProblem } from "../../event/sdk/body.ts";
import type { Span } from "../../event/text/scratch.ts";
import { BRACE_OPEN, BRACKET_CLOSE, BRACKET_OPEN, COMMA, QUOTE } from "../../json/bytes.ts";
import {
  loadText,
  NOT_JSON,
  scanned,
  skipValue,
  stringText,
  tokenAt,
} from "../../json/json-scanner.ts";
import { ABSENT, memberSpans } from "../../json/member-names.ts";
import { GUEST_OUTPUT_LEVELS_MAX } from "../../settings/limits.ts";
import { TRANSFORMER_EVENTS_MAX } from "../limits.ts";

/**
 * Group of items on which the same code runs. Items are in one group if they have the same
 * workspace and equal text in the members below. The spans are those of the group's first item.
 */
export interface ItemGroup {
  workspaceId: string;
  /**
   * Spans (start and end in the body) of the item's members `destination`, `libraries` and
   * `credentials`. A span is undefined when the item has no such member.
   */
  destination: Span | undefined;
  libraries: Span | undefined;
  credentials: Span | undefined;
}

/**
 * One item of a request, with the spans (start and end in the body) of the event (`message`) and of
 * its metadata. A span is undefined if the member is missing or is not an object.
 */
export interface RequestItem {
  message: Span | undefined;
  metadata: Span | undefined;
  group: ItemGroup;
  /**
   * Whether a member of the item is nested more than `GUEST_OUTPUT_LEVELS_MAX` levels deep. Such an
   * item is not run, because a Python guest process ends when it reads several thousand levels.
   */
  isTooDeep: boolean;
}

const itemMembers = memberSpans(["message", "metadata", "destination", "libraries", "credentials"]);
const [MESSAGE, METADATA, DESTINATION, LIBRARIES, CREDENTIALS] = [0, 1, 2, 3, 4] as const;
const metadataMembers = memberSpans(["workspaceId"]);

const notItems: BodyProblem = {
  status: 400,
  problem: "Expected a body that is a JSON array of objects",
};
const tooMany: BodyProblem = {
  status: 413,
  problem: `Expected at most ${TRANSFORMER_EVENTS_MAX} events in a request`,
};

/**
 * Finds the items in the body of a request to `/customTransform`, as positions in `body`. Returns a
 * `BodyProblem` if the body is not a JSON array of objects in valid UTF-8, or has too many items.
 */
export function itemsIn(body: Buffer): RequestItem[] | BodyProblem {
  if (!isUtf8(body)) return notItems;
  const bytes = loadText(body);
  const items: RequestItem[] = [];
  const groups = new GroupFinder(bytes);
  let at = tokenAt(bytes, 0);
  if (bytes[at] !== BRACKET_OPEN) return notItems;
  at = tokenAt(bytes, at + 1);
  if (bytes[at] === BRACKET_CLOSE) return endsAt(bytes, at + 1, body.length) ? items : notItems;
  for (;;) {
    if (items.length === TRANSFORMER_EVENTS_MAX) return tooMany;
    if (bytes[at] !== BRACE_OPEN) return notItems;
    scanned.levels = 0;
    const end = itemMembers.find(bytes, at);
    if (end === NOT_JSON) return notItems;
    items.push(foundItem(bytes, groups));
    at = tokenAt(bytes, end);
    if (bytes[at] === BRACKET_CLOSE) return endsAt(bytes, at + 1, body.length) ? items : notItems;
    if (bytes[at] !== COMMA) return notItems;
    at = tokenAt(bytes, at + 1);
  }
}

function endsAt(bytes: Buffer, at: number, length: number): boolean {
  return tokenAt(bytes, at) === length;
}

/** Returns the item that `itemMembers.find` has just scanned. */
function foundItem(bytes: Buffer, groups: GroupFinder): RequestItem {
  const message = objectAt(bytes, MESSAGE);
  const metadata = objectAt(bytes, METADATA);
  const workspaceId = metadata === undefined ? "" : workspaceIn(bytes, metadata.start);
  const group = groups.find({
    workspaceId,
    destination: spanAt(DESTINATION),
    libraries: spanAt(LIBRARIES),
    credentials: spanAt(CREDENTIALS),
  });
  return { message, metadata, group, isTooDeep: scanned.levels > GUEST_OUTPUT_LEVELS_MAX };
}

function spanAt(member: number): Span | undefined {
  const start = itemMembers.starts[member]!;
  return start === ABSENT ? undefined : { start, end: itemMembers.ends[member]! };
}

function objectAt(bytes: Buffer, member: number): Span | undefined {
  const span = spanAt(member);
  return span !== undefined && bytes[span.start] === BRACE_OPEN ? span : undefined;
}

function workspaceIn(bytes: Buffer, start: number): string {
  metadataMembers.find(bytes, start);
  const value = metadataMembers.starts[0]!;
  if (value === ABSENT || bytes[value] !== QUOTE) return "";
  return stringText(bytes, value, skipValue(bytes, value));
}

/**
 * Finds the group of an item. Items belong to the same group if they have equal bytes in all
 * members that select the code.
 */
class GroupFinder {
  readonly #groups = new Map<string, ItemGroup>();
  #last: ItemGroup | undefined;

  constructor(private readonly bytes: Buffer) {}

  /** Returns the earlier group that equals `wanted` (see `ItemGroup`), or else `wanted` itself. */
  find(wanted: ItemGroup): ItemGroup {
    // Almost all requests have one group.
    if (this.#last !== undefined && this.#isSame(this.#last, wanted)) return this.#last;
    const parts = [wanted.destination, wanted.libraries, wanted.credentials].map((span) =>
      span === undefined ? "" : this.bytes.toString("latin1", span.start, span.end),
    );
    const key = JSON.stringify([wanted.workspaceId, ...parts]);
    this.#last = this.#groups.getOrInsert(key, wanted);
    return this.#last;
  }

  #isSame(group: ItemGroup, other: ItemGroup): boolean {
    return (
      group.workspaceId === other.workspaceId &&
      this.#isSameText(group.destination, other.destination) &&
      this.#isSameText(group.libraries, other.libraries) &&
      this.#isSameText(group.credentials, other.credentials)
    );
  }

  #isSameText(span: Span | undefined, other: Span | undefined): boolean {
    if (span === undefined || other === undefined) return span === other;
    const bytes = this.bytes;
    return bytes.compare(bytes, span.start, span.end, other.start, other.end) === 0;
  }
}
