import type { DeliveryResult } from "../../destinations/destination.ts";
import type { Output } from "../model/lane-event.ts";
import { userOf } from "./retry-queue.ts";

/**
 * Failed attempts in a row after which one output from elsewhere in the batch is tried. Only that
 * shows whether the destination is down or an output is at fault.
 */
export const QUICK_FAILURES_MAX = 2;

/**
 * Failed attempts of a batch by failures of the destination after which the batch is divided too:
 * one of its outputs may be what the destination fails at.
 */
const WHOLE_FAILURES_MAX = 2;

/**
 * Decides which outputs of a batch are tried next. After a failure, the batch is divided until the
 * output that causes it is tried alone: about log₂ of the batch size attempts for each such output.
 * The size of later batches follows the results: half after each failure, twice after each success.
 */
export class BatchDivider {
  /** Number of outputs of a delivery in which nothing is suspected. */
  #size = Number.POSITIVE_INFINITY;
  /**
   * Number of outputs at the front of the batch of which at least one makes a delivery fail; 0
   * while none is suspected.
   */
  #suspected = 0;
  /** Number of failures of the destination while nothing was suspected. */
  #wholeFailures = 0;

  /** Begins a new batch, in which nothing is suspected. */
  begin(): void {
    this.#suspected = 0;
    this.#wholeFailures = 0;
  }

  /**
   * Chooses the outputs of the next attempt: the first ones, unless `failures`, the number of failed
   * attempts in a row, is high. `random` is from 0 to 1.
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
    return { from: 0, count: Math.max(1, Math.min(size, rest.length, batchSize)) };
  }

  /**
   * Notes the result of an attempt with `count` outputs from index `from` on. Returns whether a
   * failure was to be expected, so that the next attempt needs no pause.
   */
  record(attempt: {
    from: number;
    count: number;
    result: DeliveryResult;
    batchSize: number;
  }): boolean {
    const { from, count, result, batchSize } = attempt;
    const isOfEvent = result.kind !== "retry" || result.scope === "event";
    const isExpected = isOfEvent || this.#suspected > from;
    if (result.kind === "delivered") {
      if (this.#suspected > from) this.#suspected = Math.max(0, this.#suspected - count);
      else this.#size = Math.min(2 * this.#size, batchSize);
    } else if (count > 1) {
      if (!isExpected) this.#wholeFailures += 1;
      if (!isExpected && this.#wholeFailures < WHOLE_FAILURES_MAX) return false;
      if (this.#suspected === 0) this.#size = Math.ceil(count / 2);
      this.#suspected = count;
    } else if (from === 0) {
      // The output that failed alone is the culprit: the others are not suspected any more.
      this.#suspected = 0;
    } else if (this.#suspected > from) this.#suspected -= 1;
    return isExpected;
  }
}
