import type { AttemptResult } from "../model/attempt.ts";
import type { Output } from "../model/lane-event.ts";
import { userOf } from "./retry-queue.ts";

/**
 * Number of failed attempts in a row after which one event from a random place in the batch is
 * sent. If the receiver accepts this event, an event at the front of the batch causes the failures.
 */
export const QUICK_FAILURES_MAX = 2;

/**
 * Number of failed requests after which a batch is divided although the destination seems to cause
 * the failures (such as time-outs), because an event of the batch may still be the cause.
 */
const WHOLE_FAILURES_MAX = 2;

/**
 * Decides which events of a batch are sent next. After a failure that an event may have caused,
 * sends half of the suspected events each time, to find the cause. Later requests have at most half
 * as many events as the failed one; each success doubles this maximum.
 */
export class BatchDivider {
  /** Maximum number of events in a request while no event is suspected of causing a failure. */
  #size = Number.POSITIVE_INFINITY;
  /**
   * Number of events at the front of the batch that are suspected: at least one of them made a
   * request fail. 0 while no event is suspected.
   */
  #suspected = 0;
  /**
   * Number of this batch's failed requests that had several events, none of which seemed to be the
   * cause. Requests with an event that was suspected already are not counted.
   */
  #wholeFailures = 0;

  /** Begins a new batch, in which no event is suspected of causing a failure. */
  begin(): void {
    this.#suspected = 0;
    this.#wholeFailures = 0;
  }

  /**
   * Chooses the events of the next request from `rest`, the events without an outcome: the first
   * ones, or, after `QUICK_FAILURES_MAX` failures in a row, only the first event of the user chosen
   * by `random` (0 to below 1).
   */
  choose(
    rest: readonly Output[],
    { batchSize, failures, random }: { batchSize: number; failures: number; random: number },
  ): { from: number; count: number } {
    this.#suspected = Math.min(this.#suspected, rest.length);
    if (failures >= QUICK_FAILURES_MAX && rest.length > 1) {
      // It must be the first of its user, to keep the order.
      const user = userOf(rest[Math.floor(random * rest.length)] ?? rest[0]!);
      return { from: rest.findIndex((output) => userOf(output) === user), count: 1 };
    }
    const size = this.#suspected > 0 ? Math.ceil(this.#suspected / 2) : this.#size;
    return { from: 0, count: Math.min(size, rest.length, batchSize) };
  }

  /**
   * Records the result of a request with `count` events, the first at index `from`. For a failed
   * request, returns whether one of these events is the likely cause, so that the next request
   * needs no pause.
   */
  record(attempt: {
    from: number;
    count: number;
    result: AttemptResult;
    batchSize: number;
  }): boolean {
    const { from, count, result, batchSize } = attempt;
    const isOfEvent = result.kind !== "retry" || result.scope === "event";
    const isExpected = isOfEvent || this.#suspected > from;
    if (result.kind === "delivered") {
      if (this.#suspected > from) this.#suspected -= count;
      else this.#size = Math.min(2 * this.#size, batchSize);
    } else if (count > 1) {
      if (!isExpected) this.#wholeFailures += 1;
      if (!isExpected && this.#wholeFailures < WHOLE_FAILURES_MAX) return false;
      if (this.#suspected === 0) this.#size = Math.ceil(count / 2);
      this.#suspected = count;
    } else if (from === 0) {
      // The output that failed alone is the cause: the others are no longer suspected.
      this.#suspected = 0;
    } else if (this.#suspected > from) this.#suspected -= 1;
    return isExpected;
  }
}
