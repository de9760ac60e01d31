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
   * Returns the destination's current outage; undefined while there is none.
   * - `since`: time by `clock.elapsed()` at which the outage began, even if that was during an
   *   earlier process.
   * - `at`: time of the last failure, by the same clock.
   * - `reason`, `response`: cause of the last failure.
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
   * Returns the events to send in the next attempt. Records a final outcome for each event that
   * must not be sent. While the destination is down, makes dead letters of the events whose retry
   * window has ended.
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
   * Counts an attempt for each event in `outputs`, and stores a failure with each event that failed
   * or was refused. If the attempt will be retried, sets each `failingSince` that is unset to the
   * present time.
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
   * Records a failed request with only this event. Makes the event a dead letter and returns true
   * if the event's retry window has ended or the event causes its failures. A failure of the scope
   * `event` counts against the event if another event was accepted since the previous failure.
   * - `isPressed`: failed events take much memory. Failures of any scope then count.
   * - `isOnly`: no event of another user waits for a retry. A failure of the scope `event` then
   *   also counts if no other event was tried since the previous failure.
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
   * Whether to send the next event of the user of `output`, although `output` still fails, to learn
   * whether the destination accepts any events. True after `FOLLOWER_ATTEMPTS_MIN` failures in
   * requests with only `output`:
   * - with `isPressed` (failed events take much memory), failures of any cause
   * - otherwise, failures that `output` may have caused, if no other event was accepted between the
   *   last two
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
   * Whether an event's retry window has ended: its attempts have failed for longer than the window,
   * or both its age and the current outage are longer. Age alone never decides, because another
   * process's clock may be wrong.
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
 * Returns the failure counts of an event just before its first failure in a request with only this
 * event. `takenAtLast` is one below the present count, so that the first failure counts against the
 * event.
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
 * Whether an event itself causes its failures, judged by how many other events were accepted or
 * failed since the first of these failures. Failures that an outage of the destination explains are
 * not counted.
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
