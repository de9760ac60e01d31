import { InvariantError } from "../../assert.ts";
import { messageOf } from "../../errors.ts";
import { TopicRecreated } from "./topic-identity.ts";
import { apiIdOf } from "./write-refusal.ts";

/**
 * Number of failed attempts in a row from which a partition counts as unreadable. A torn connection
 * fails one or two, and the next attempt succeeds.
 */
const FAILURES_MIN = 4;

/** Thrown when a topic does not have the entries that this node would read next. */
export class EntriesLost extends Error {}

/** Follows whether a partition can be read, by the outcomes of the attempts. */
export class ReadHealth {
  #failures = 0;
  #cause = "";
  #isRecreated = false;

  /** Notes a failed attempt. Returns whether the partition counts as unreadable since this attempt. */
  failed(error: unknown): boolean {
    const wasUnreadable = this.isUnreadable;
    this.#failures = isLasting(error) ? FAILURES_MIN : this.#failures + 1;
    this.#cause = describeReadFailure(error);
    this.#isRecreated = error instanceof TopicRecreated;
    return this.isUnreadable && !wasUnreadable;
  }

  /** Notes a successful attempt. Returns whether the partition counted as unreadable before it. */
  succeeded(): boolean {
    const wasUnreadable = this.isUnreadable;
    this.#failures = 0;
    return wasUnreadable;
  }

  /** Returns a sentence while the partition is unreadable: `claim`, which says so, and the cause. */
  trouble(claim: string): string | undefined {
    if (!this.isUnreadable) return undefined;
    return this.#isRecreated ? this.#cause : `${claim}: ${this.#cause}`;
  }

  get isUnreadable(): boolean {
    return this.#failures >= FAILURES_MIN;
  }

  /** Clause about why the last attempt failed. */
  get cause(): string {
    return this.#cause;
  }
}

/** Whether an error says that further attempts fail too. */
const isLasting = (error: unknown) =>
  error instanceof TopicRecreated ||
  error instanceof EntriesLost ||
  error instanceof InvariantError;

/** Returns a clause about the leader of a partition that could not be read. */
export function describeReadFailure(error: unknown): string {
  const answer = apiIdOf(error);
  if (answer !== undefined) return `its leader answers ${answer}`;
  return isOfConnection(error) ? "its leader does not answer this node" : messageOf(error);
}

/** Whether the Kafka library has thrown the error because a request got no answer. */
function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return String(error.code).startsWith("PLT_KFK_");
}
