import { createHash } from "node:crypto";

/**
 * Number of characters of a hash in an entity tag. Each has 6 bits, so that two states of a
 * resource do not have the same tag by accident.
 */
const HASH_CHARS = 22;

/** Answer of one resource with the entity tag of its state, which becomes the header ETag. */
export class Tagged<T> {
  constructor(
    readonly answer: T,
    /** Entity tag without its double quotes. */
    readonly tag: string,
  ) {}
}

/**
 * Returns an answer with its entity tag. `state` is what the tag is computed from: the answer
 * itself, unless parts of it change without a change of the resource.
 */
export function tagged<T>(answer: T, state: unknown = answer): Tagged<T> {
  return new Tagged(answer, hashOfState(state));
}

/** Returns a text that differs for different states. It contains only letters, digits, - and _. */
export function hashOfState(state: unknown): string {
  const hash = createHash("sha256").update(JSON.stringify(state));
  return hash.digest("base64url").slice(0, HASH_CHARS);
}

/** Returns the ETag header of an answer. The tag is a strong validator. */
export function tagHeader({ tag }: Tagged<unknown>): { ETag: string } {
  return { ETag: `"${tag}"` };
}

/** The current state of one resource, with which the preconditions of a request are compared. */
export interface CurrentResource<T = unknown> {
  /** Answer of a GET now, with its entity tag. */
  now: Tagged<T>;
  /**
   * Returns who changed the resource, and when, since the state that one of these tags names. The
   * text ends a sentence that begins with "but".
   */
  changeSince(tags: readonly string[]): string;
  /** Returns the earlier state that a tag names. Undefined when it is no longer stored. */
  earlier?(tags: readonly string[]): unknown;
}

/** Returns the current state of a resource without history. */
export function currentState<T>(
  noun: string,
  now: Tagged<T>,
  { updatedAt }: { updatedAt?: string },
): CurrentResource<T> {
  const at = updatedAt === undefined ? "" : `, last at ${updatedAt}`;
  return { now, changeSince: () => `the ${noun} has changed${at}` };
}
