import { ApiError } from "../../errors.ts";
import type { CurrentResource, Tagged } from "../entity-tag.ts";
import { PreconditionFailed } from "../response/errors.ts";

/**
 * Preconditions of requests by RFC 9110. The headers If-Match and If-None-Match contain entity tags
 * of states of a resource: the request takes effect only if the current state is one of If-Match,
 * and none of If-None-Match.
 */

/** Value of If-Match or If-None-Match: `*` for any state, or a list of entity tags. */
type TagCondition = "*" | readonly EntityTag[];
interface EntityTag {
  isWeak: boolean;
  tag: string;
}

interface Preconditions {
  ifMatch?: TagCondition | undefined;
  ifNoneMatch?: TagCondition | undefined;
}

/** Returns a request's preconditions; undefined if none. Throws if a header is malformed. */
export function readPreconditions(headers: Headers): Preconditions | undefined {
  const ifMatch = readCondition("If-Match", headers);
  const ifNoneMatch = readCondition("If-None-Match", headers);
  if (ifMatch === undefined && ifNoneMatch === undefined) return undefined;
  return { ifMatch, ifNoneMatch };
}

/**
 * Throws unless all resources that a request names fulfil its preconditions. Most routes name one
 * resource: the one of the path.
 */
export function expectPreconditions(
  { ifMatch, ifNoneMatch }: Preconditions,
  resources: readonly CurrentResource[],
): void {
  if (ifMatch !== undefined) {
    if (resources.length === 0) {
      throw new PreconditionFailed("Expected the state of If-Match, but there is none now", {});
    }
    for (const resource of resources) {
      if (!fulfilsIfMatch(ifMatch, resource.now)) throw changedError(resource, ifMatch);
    }
  }
  if (ifNoneMatch === undefined) return;
  for (const { now } of resources) {
    if (!fulfilsIfNoneMatch(ifNoneMatch, now)) {
      const message = "Expected none of the states of If-None-Match, but it is the current one";
      throw new PreconditionFailed(message, { current: now.answer }, now);
    }
  }
}

/** Whether to answer a GET with 304. True if the client already has the current state (`now`). */
export function isNotModified({ ifNoneMatch }: Preconditions, now: Tagged<unknown>): boolean {
  return ifNoneMatch !== undefined && !fulfilsIfNoneMatch(ifNoneMatch, now);
}

/** Whether a resource's tag fulfils If-Match. A weak tag in the header never matches. */
function fulfilsIfMatch(condition: TagCondition, { tag }: Tagged<unknown>): boolean {
  return condition === "*" || condition.some((it) => !it.isWeak && it.tag === tag);
}

/** Whether a resource's tag fulfils If-None-Match, where weak tags match like strong ones. */
function fulfilsIfNoneMatch(condition: TagCondition, { tag }: Tagged<unknown>): boolean {
  return condition !== "*" && !condition.some((it) => it.tag === tag);
}

function changedError(resource: CurrentResource, condition: TagCondition): PreconditionFailed {
  const tags = condition === "*" ? [] : condition.map(({ tag }) => tag);
  const base = resource.earlier?.(tags);
  const isWeak = tags.includes(resource.now.tag);
  return new PreconditionFailed(
    isWeak
      ? "Expected a strong entity tag in If-Match, got a weak one: send the tag without W/"
      : `Expected the state of If-Match, but ${resource.changeSince(tags)}`,
    { current: resource.now.answer, ...(base !== undefined && { base }) },
    resource.now,
  );
}

function readCondition(name: string, headers: Headers): TagCondition | undefined {
  const value = headers.get(name)?.trim();
  if (value === undefined) return undefined;
  if (value === "*") return "*";
  const tags = parseTags(value);
  if (tags !== undefined && tags.length > 0) return tags;
  throw new ApiError(
    "invalid",
    `Expected ${name} to be * or a list of entity tags in double quotes, got another text`,
  );
}

/** Parses a list of entity tags, such as `"a", W/"b"`. Undefined when the text is no such list. */
export function parseTags(text: string): EntityTag[] | undefined {
  const tags: EntityTag[] = [];
  // A list may have empty items. Every match begins where the last one ended.
  const item = /[ \t]*(?:(W\/)?"([!\x23-\x7e\x80-\xff]*)"[ \t]*)?(?:,|$)/y;
  while (item.lastIndex < text.length) {
    const match = item.exec(text);
    if (match === null) return undefined;
    if (match[2] !== undefined) tags.push({ isWeak: match[1] !== undefined, tag: match[2] });
  }
  return tags;
}
