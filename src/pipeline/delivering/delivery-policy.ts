import { DOWN_MS_MIN } from "../limits.ts";
import type { AttemptCounts, EventOutcome, LaneEvent, Output } from "../model/lane-event.ts";
import type { RouteDecision, Routes } from "../model/routes.ts";
import { isGivenUp } from "./retry.ts";

/** State of the lane that the policy reads. */
export interface DeliveryPolicyContext {
  retryWindowMs: number;
  elapsed(): number;
  age(at: number): number;
  routes(): Routes;
  decide(event: LaneEvent): RouteDecision;
  settle(outputs: readonly Output[], outcome: EventOutcome): void;
  /** Counts over all attempts of the lane. */
  attemptCounts(): AttemptCounts;
  /**
   * Set while every attempt of the lane fails: when the first and the last of them failed, and why
   * the last.
   */
  failure(): { since: number; at: number; reason: string } | undefined;
}

/** Decides which outputs are to be tried again, and settles the others. */
export class DeliveryPolicy {
  readonly #context: DeliveryPolicyContext;

  constructor(context: DeliveryPolicyContext) {
    this.#context = context;
  }

  /**
   * Selects the outputs to try now. Outputs that must not be sent are settled, and outputs that are
   * past the retry window become dead letters while the destination is down.
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

  /** Settles outputs as delivered, except those that the receiver refused, by index. */
  settleDelivered(outputs: readonly Output[], refused?: ReadonlyMap<number, string>): void {
    for (const [index, reason] of refused ?? []) this.giveUp([outputs[index]!], reason);
    const taken = refused ? outputs.filter((_, index) => !refused.has(index)) : outputs;
    this.#context.settle(taken, { kind: "delivered" });
  }

  /** Selects the outputs to try again after a failed attempt; the others become dead letters. */
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
   * The reason of the last failure while the destination counts as down: all attempts have failed
   * for
   * a while, and the last was made just now.
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
