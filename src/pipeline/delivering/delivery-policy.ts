import { DOWN_MS_MIN } from "../limits.ts";
import type { AttemptCounts, EventOutcome, LaneEvent, Output } from "../model/lane-event.ts";
import type { RouteDecision, Routes } from "../model/routes.ts";
import { isGivenUp } from "./retry.ts";

/** State and functions of the lane that a delivery policy uses. */
export interface DeliveryPolicyContext {
  retryWindowMs: number;
  elapsed(): number;
  age(at: number): number;
  routes(): Routes;
  decide(event: LaneEvent): RouteDecision;
  settle(outputs: readonly Output[], outcome: EventOutcome): void;
  /** Numbers of the lane's deliveries that succeeded and failed so far. */
  attemptCounts(): AttemptCounts;
  /**
   * Set while every attempt of the lane fails; undefined otherwise. `since` and `at` are when the
   * first and the last of these attempts failed, by `elapsed()`. `reason` is why the last one
   * failed.
   */
  failure(): { since: number; at: number; reason: string } | undefined;
}

/** Decides which outputs are tried or tried again, and records the outcomes of the others. */
export class DeliveryPolicy {
  readonly #context: DeliveryPolicyContext;

  constructor(context: DeliveryPolicyContext) {
    this.#context = context;
  }

  /**
   * Returns the outputs to try now. Gives a final outcome to outputs that must not be sent any
   * more. While the destination is down, outputs older than the retry window become dead letters.
   */
  selectDue(outputs: Output[]): Output[] {
    const routes = this.#context.routes();
    const reason = this.#downReason();
    return outputs.filter((output) => {
      // Routes have seldom changed since the output's code ran.
      const isChecked = output.laneEvent.checkedRoutes === routes;
      if (!isChecked && this.#settleUnsendable(output)) return false;
      if (reason === undefined || this.#ageMs(output) <= this.#context.retryWindowMs) return true;
      // Trying each of them would take longer than events come in, and the log would grow
      // meanwhile.
      this.giveUp([output], reason);
      return false;
    });
  }

  /** Records outputs as delivered. Those with an index in `refused` become dead letters instead. */
  settleDelivered(outputs: readonly Output[], refused?: ReadonlyMap<number, string>): void {
    for (const [index, reason] of refused ?? []) this.giveUp([outputs[index]!], reason);
    const taken = refused ? outputs.filter((_, index) => !refused.has(index)) : outputs;
    this.#context.settle(taken, { kind: "delivered" });
  }

  /** Returns the outputs to try again after a failed attempt. The others become dead letters. */
  selectRetryable(outputs: readonly Output[], reason: string): Output[] {
    return outputs.filter((output) => !this.#giveUpIfHopeless(output, reason));
  }

  giveUp(outputs: readonly Output[], reason: string): void {
    this.#context.settle(outputs, { kind: "dead-letter", stage: "deliver", reason });
  }

  #settleUnsendable(output: Output): boolean {
    const decision = this.#context.decide(output.laneEvent);
    if (decision.kind === "discard") this.#context.settle([output], { kind: "discarded" });
    if (decision.kind === "refused") this.giveUp([output], decision.reason);
    return decision.kind !== "send";
  }

  /**
   * Reason of the last failure while the destination counts as down; undefined otherwise. It is
   * down when all attempts have failed for at least `DOWN_MS_MIN` and the last one failed within
   * that time.
   */
  #downReason(): string | undefined {
    const failure = this.#context.failure();
    if (failure === undefined) return undefined;
    const now = this.#context.elapsed();
    const isDown = now - failure.since >= DOWN_MS_MIN && now - failure.at <= DOWN_MS_MIN;
    return isDown ? failure.reason : undefined;
  }

  #ageMs(output: Output): number {
    return this.#context.age(output.laneEvent.retryWindowStart);
  }

  #giveUpIfHopeless(output: Output, reason: string): boolean {
    const { attempts } = output;
    if (attempts === 0) return false;
    const counts = this.#context.attemptCounts();
    output.countsAtFirstFailure ??= counts;
    const before = output.countsAtFirstFailure;
    const failed = {
      attempts,
      ageMs: this.#ageMs(output),
      othersDelivered: counts.delivered - before.delivered,
      othersFailed: counts.failed - before.failed - (attempts - 1),
    };
    const isHopeless = isGivenUp(failed, this.#context.retryWindowMs);
    if (isHopeless) this.giveUp([output], reason);
    return isHopeless;
  }
}
