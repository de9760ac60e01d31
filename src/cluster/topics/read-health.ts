import { InvariantError } from "../../assert.ts";
import { messageOf } from "../../errors.ts";
import { LeaderFailed } from "./fetch-answer.ts";
import { TopicRecreated } from "./topic-identity.ts";
import { apiIdOf } from "./write-refusal.ts";

/**
 * Number of consecutive failed reads after which a partition counts as unreadable. It is above 2,
 * because a broken connection makes one or two reads fail.
 */
const FAILURES_MIN = 4;

/** Thrown when a topic does not have the entries that this node would read next. */
export class EntriesLost extends Error {}

/** Decides from the outcomes of the reads of a partition whether the partition is readable. */
export class ReadHealth {
  #failures = 0;
  #cause = "";
  #isRecreated = false;

  /**
   * Notes a failed read. Returns true if, with this failure, the partition begins to count as
   * unreadable.
   */
  failed(error: unknown): boolean {
    const wasUnreadable = this.isUnreadable;
    this.#failures = isLasting(error) ? FAILURES_MIN : this.#failures + 1;
    this.#cause = describeReadFailure(error);
    this.#isRecreated = error instanceof TopicRecreated;
    return this.isUnreadable && !wasUnreadable;
  }

  /** Notes a successful read. Returns whether the partition counted as unreadable before it. */
  succeeded(): boolean {
    const wasUnreadable = this.isUnreadable;
    this.#failures = 0;
    return wasUnreadable;
  }

  /**
   * Returns a warning if the partition is unreadable, otherwise undefined. The warning is `claim`
   * (a clause that says what cannot be read) and the cause, or the cause alone if the topic was
   * recreated.
   */
  trouble(claim: string): string | undefined {
    if (!this.isUnreadable) return undefined;
    return this.#isRecreated ? this.#cause : `${claim}: ${this.#cause}`;
  }

  get isUnreadable(): boolean {
    return this.#failures >= FAILURES_MIN;
  }

  /** Clause that says why the last failed read failed. */
  get cause(): string {
    return this.#cause;
  }
}

/** Whether a read that failed with `error` will fail in the same way each time it is repeated. */
const isLasting = (error: unknown) =>
  error instanceof TopicRecreated ||
  error instanceof EntriesLost ||
  error instanceof InvariantError;

/**
 * Returns a clause that says why a partition could not be read. If the failed request went to the
 * partition's leader, the clause names this broker. Otherwise it names none.
 */
export function describeReadFailure(error: unknown): string {
  const answer = apiIdOf(error);
  if (error instanceof LeaderFailed) {
    const leader = `broker ${error.broker}, which leads,`;
    if (answer !== undefined) return `${leader} answers ${answer}`;
    return isOfConnection(error.cause)
      ? `${leader} does not answer this node`
      : `${leader} ${error.message}`;
  }
  if (answer !== undefined) return `the brokers answer ${answer}`;
  return isOfConnection(error) ? "the brokers do not answer this node" : messageOf(error);
}

/** Whether the Kafka library has thrown the error because a broker did not answer. */
function isOfConnection(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return String(error.code).startsWith("PLT_KFK_");
}
