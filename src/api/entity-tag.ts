import { createHash } from "node:crypto";

/**
 * Number of characters of the hash in an entity tag. Each character holds 6 bits. The 132 bits rule
 * out that two states of a resource get the same tag by accident.
 */
const HASH_CHARS = 22;

/**
 * Answer of a route that responds with one resource, together with the entity tag of this resource,
 * which is sent in the header ETag.
 */
export class Tagged<T> {
  constructor(
    readonly answer: T,
    /** Entity tag without its double quotes. */
    readonly tag: string,
  ) {}
}

/**
 * Returns an answer with its entity tag, a hash of `state`. Pass a `state` without the parts of the
 * answer that may change while the resource does not.
 */
export function tagged<T>(answer: T, state: unknown = answer): Tagged<T> {
  return new Tagged(answer, hashOfState(state));
}

/** Returns a hash of a state. It contains only letters, digits, - and _. */
export function hashOfState(state: unknown): string {
  const hash = createHash("sha256").update(JSON.stringify(state));
  return hash.digest("base64url").slice(0, HASH_CHARS);
}

/** Returns the ETag header of an answer. The tag is a strong validator. */
export function tagHeader({ tag }: Tagged<unknown>): { ETag: string } {
  return { ETag: `"${tag}"` };
}

/** Current state of a resource. It is compared with the If-Match and If-None-Match of a request. */
export interface CurrentResource<T = unknown> {
  /** The resource as GET returns it, with its entity tag. */
  now: Tagged<T>;
  /**
   * Returns a clause for an error message that says how the resource has changed, such as "Ada
   * saved another revision at …". `tags` are the entity tags in the request's If-Match.
   */
  changeSince(tags: readonly string[]): string;
  /** Returns the stored earlier state that has one of `tags`. Undefined if there is none. */
  earlier?(tags: readonly string[]): unknown;
}

/** Returns a `CurrentResource` without `earlier`. `changeSince` gives `updatedAt`, if present. */
export function currentState<T>(
  noun: string,
  now: Tagged<T>,
  { updatedAt }: { updatedAt?: string },
): CurrentResource<T> {
  const at = updatedAt === undefined ? "" : `, last at ${updatedAt}`;
  return { now, changeSince: () => `the ${noun} has changed${at}` };
}
