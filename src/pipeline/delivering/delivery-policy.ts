import type { FailureScope } from "../../destinations/destination.ts";
import { FOLLOWER_ATTEMPTS_MIN } from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import { DOWN_MS_MIN } from "../limits.ts";
import { type AttemptResult, type FailureCause, withAttempt } from "../model/attempt.ts";
import type {
  EventOutcome,
  FailuresAlone,
  LaneEvent,
  Output,
  OutputCounts,
} from "../model/lane-event.ts";
import type { RouteDecision, Routes } from "../model/routes.ts";
import { isPoison } from "./retry.ts";

/** State and functions of a lane (the delivery to one destination) that its policies use. */
export interface DeliveryPolicyContext {
  retryWindowMs: number;
  clock: Pick<Clock, "elapsed" | "age">;
  routes(): Routes;
  decide(event: LaneEvent): RouteDecision;
  settle(outputs: readonly Output[], outcome: EventOutcome): void;
  /** Counts of the destination's outgoing events and attempts. Delivery policies update them. */
  readonly outputCounts: OutputCounts;
  /**
   * Returns the destination's current outage; undefined while there is none. `since` is the time at
   * which the outage began, even if that was during an earlier process. `at` is the time of the
   * last failure. Both are times of `clock.elapsed()`. `reason` and `response` are the last
   * failure's cause.
   */
  failure(): ({ since: number; at: number } & FailureCause) | undefined;
}

/**
 * Decides which outgoing events are sent or retried, and records the final outcomes of all other
 * events.
 */
export class DeliveryPolicy {
  constructor(private readonly context: DeliveryPolicyContext) {}

  /**
   * Returns the events to send in the next attempt. Leaves out events that must not be sent, for
   * example because their connection was deleted, and records a final outcome for each of them.
   * While the destination is down, makes dead letters of the events whose retry window has ended.
   */
  selectDue(outputs: Output[]): Output[] {
    const routes = this.context.routes();
    const cause = this.#downCause();
    return outputs.filter((output) => {
      // Mostly, the routes are unchanged since the output's code ran.
      const isChecked = output.laneEvent.checkedRoutes === routes;
      if (!isChecked && this.#settleUnsendable(output)) return false;
      if (cause === undefined || !this.#hasWindowEnded(output)) return true;
      // Trying each of them would take longer than new events take to arrive, and the log would
      // grow meanwhile.
      this.giveUp([output], cause);
      return false;
    });
  }

  /**
   * Adds one to the number of attempts of each event in `outputs`. Stores a failed attempt with
   * each event that failed: all of them, or those that the receiver refused. If the attempt will be
   * retried, also stores the present time as the start of the failures of each event that has not
   * failed before.
   */
  recordAttempt(outputs: readonly Output[], result: AttemptResult): void {
    const now = this.context.clock.elapsed();
    const { kind, attempt } = result;
    const refused = kind === "delivered" ? result.refused : undefined;
    for (let index = 0; index < outputs.length; index++) {
      const output = outputs[index]!;
      output.attempts += 1;
      if (kind === "retry") output.failingSince ??= now;
      if (attempt === undefined || (kind === "delivered" && !refused?.has(index))) continue;
      output.failedAttempts = withAttempt(output.failedAttempts, attempt);
    }
  }

  /**
   * Records events as delivered, except those with an index in `refused`, which become dead
   * letters.
   */
  settleDelivered(outputs: readonly Output[], refused?: ReadonlyMap<number, string>): void {
    for (const [index, reason] of refused ?? []) this.giveUp([outputs[index]!], { reason });
    const taken = refused ? outputs.filter((_, index) => !refused.has(index)) : outputs;
    const counts = this.context.outputCounts;
    for (const { failedAlone } of taken) if (failedAlone === undefined) counts.taken += 1;
    this.context.settle(taken, { kind: "delivered" });
  }

  /**
   * Returns the events to send again after a failed attempt. Events whose retry window has ended
   * become dead letters.
   */
  selectRetryable(outputs: readonly Output[], cause: FailureCause): Output[] {
    return outputs.filter((output) => {
      if (!this.#hasWindowEnded(output)) return true;
      this.giveUp([output], cause);
      return false;
    });
  }

  /**
   * Records that a request with only this event has failed. If the event's retry window has ended,
   * or the event itself causes its failures, makes the event a dead letter and returns true.
   * Otherwise returns false. A failure counts against the event if `failure.scope` is `event`, and
   * another event was accepted since the previous failure. The first failure needs no such other
   * event. While `isPressed` is true (failed events take much memory), failures of any scope count.
   * While `isOnly` is true (no event of another user waits for a retry), a failure of the scope
   * `event` also counts if no other event was tried since the previous failure.
   */
  giveUpIfHopeless(
    output: Output,
    failure: FailureCause & { scope?: FailureScope },
    { isPressed = false, isOnly = false },
  ): boolean {
    const counts = this.context.outputCounts;
    if (output.failedAlone === undefined) {
      counts.failed += 1;
      output.failedAlone = firstFailure(counts);
    }
    const failed = output.failedAlone;
    failed.total += 1;
    const othersTaken = counts.taken > failed.takenAtLast;
    const othersTried = counts.attempts - failed.attemptsAtLast > 1;
    if (othersTried || !isOnly) failed.ofEventAlone = 0;
    if (othersTaken) failed.amongTaken += 1;
    if (failure.scope === "event") {
      failed.ofEvent += 1;
      if (othersTaken) failed.ofEventAmongTaken += 1;
      else if (!othersTried && isOnly) failed.ofEventAlone += 1;
    }
    failed.wasAmongTaken = othersTaken;
    failed.takenAtLast = counts.taken;
    failed.attemptsAtLast = counts.attempts;
    const isHopeless =
      this.#hasWindowEnded(output) ||
      isAtFault(failed, counts) ||
      (isPressed && failsTooOften(failed, counts));
    if (isHopeless) this.giveUp([output], failure);
    return isHopeless;
  }

  /**
   * Whether to send the next event of the user of `output`, although `output` still fails. The next
   * event shows whether the destination accepts any events, but may arrive before `output`. True if
   * `output` may have caused at least `FOLLOWER_ATTEMPTS_MIN` of its failures (`ofEvent`), and no
   * other event was accepted between the last two failures. While `isPressed` is true (failed
   * events take much memory), true if `output` has failed at least `FOLLOWER_ATTEMPTS_MIN` times,
   * whatever the cause. Counts only failures of requests that held only `output`.
   */
  needsFollower({ failedAlone }: Output, isPressed: boolean): boolean {
    if (failedAlone === undefined) return false;
    const failures = isPressed ? failedAlone.total : failedAlone.ofEvent;
    if (failures < FOLLOWER_ATTEMPTS_MIN) return false;
    return isPressed || !failedAlone.wasAmongTaken;
  }

  giveUp(outputs: readonly Output[], { reason, response }: FailureCause): void {
    this.context.settle(outputs, { kind: "dead-letter", stage: "deliver", reason, response });
  }

  #settleUnsendable(output: Output): boolean {
    const decision = this.context.decide(output.laneEvent);
    if (decision.kind === "discard") this.context.settle([output], { kind: "discarded" });
    if (decision.kind === "refused") this.giveUp([output], decision);
    return decision.kind !== "send";
  }

  /**
   * Returns the cause of the last failure while the destination is down; undefined otherwise. It is
   * down when all attempts have failed for at least `DOWN_MS_MIN`, and the last one failed at most
   * `DOWN_MS_MIN` ago.
   */
  #downCause(): FailureCause | undefined {
    const failure = this.context.failure();
    if (failure === undefined) return undefined;
    const now = this.context.clock.elapsed();
    const isDown = now - failure.since >= DOWN_MS_MIN && now - failure.at <= DOWN_MS_MIN;
    return isDown ? failure : undefined;
  }

  /**
   * Whether the retry window of an event has ended: either the event's attempts have failed for
   * longer than the window, or both the event's age and the current outage are longer than the
   * window. Failures and outages are measured by the monotonic clock. The age alone never decides,
   * because it compares the clocks of two processes, either of which may be wrong.
   */
  #hasWindowEnded({ laneEvent, failingSince }: Output): boolean {
    const { retryWindowMs } = this.context;
    const now = this.context.clock.elapsed();
    if (now - (failingSince ?? now) > retryWindowMs) return true;
    const outageMs = now - (this.context.failure()?.since ?? now);
    return (
      outageMs > retryWindowMs && this.context.clock.age(laneEvent.retryWindowStart) > retryWindowMs
    );
  }
}

/**
 * Returns the failure counts to which the caller adds an event's first failure in a request with
 * only this event. All numbers of failures are 0. `takenAtLast` is set as if another event had been
 * accepted just before this failure, so that the caller counts the failure against the event.
 */
function firstFailure(counts: OutputCounts): FailuresAlone {
  return {
    total: 0,
    ofEvent: 0,
    ofEventAmongTaken: 0,
    ofEventAlone: 0,
    amongTaken: 0,
    wasAmongTaken: true,
    countsAtFirst: { ...counts },
    takenAtLast: counts.taken - 1,
    attemptsAtLast: counts.attempts - 1,
  };
}

/**
 * Whether an event itself causes its failures. Compares the number of these failures with the other
 * events since the first failure: how many were accepted, and how many failed. Leaves out failures
 * of the event that an outage of the destination explains.
 */
function isAtFault(failed: FailuresAlone, now: OutputCounts): boolean {
  const { ofEventAmongTaken, ofEventAlone, countsAtFirst } = failed;
  return isPoison({
    count: ofEventAmongTaken + ofEventAlone,
    othersTaken: now.taken - countsAtFirst.taken,
    othersFailed: now.failed - countsAtFirst.failed,
  });
}

/**
 * Whether an event has failed more often than chance explains, compared with the attempts without
 * this event in the same time. Unlike `isAtFault`, also counts failures that the destination seems
 * to have caused.
 */
function failsTooOften(failed: FailuresAlone, now: OutputCounts): boolean {
  const { amongTaken, total, countsAtFirst } = failed;
  const attempts = now.attempts - countsAtFirst.attempts;
  const failures = now.failedAttempts - countsAtFirst.failedAttempts;
  const othersFailed = failures - (total - 1);
  return isPoison({ count: amongTaken, othersFailed, othersTaken: attempts - failures });
}
