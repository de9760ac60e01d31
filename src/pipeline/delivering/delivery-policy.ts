import { DOWN_MS_MIN } from "../limits.ts";
import type { AttemptCounts, EventOutcome, Output } from "../model/lane-event.ts";
import type { RouteDecision, Routes } from "../model/routes.ts";
import { isGivenUp } from "./retry.ts";

/** What the endings of outputs hang on. */
export interface DeliveryPolicyContext {
  retryWindowMs: number;
  elapsed(): number;
  age(at: number): number;
  routes(): Routes;
  standing(output: Output): RouteDecision;
  settle(outputs: readonly Output[], ending: EventOutcome): void;
  /** Attempts of the whole lane. */
  tally(): AttemptCounts;
  /**
   * Set while every attempt of the lane fails: when the first and the last of them failed, and why
   * the last.
   */
  failure(): { since: number; at: number; reason: string } | undefined;
}

/** Decides which outputs are still to be tried, and settles those that are not. */
export class DeliveryPolicy {
  readonly #host: DeliveryPolicyContext;

  constructor(host: DeliveryPolicyContext) {
    this.#host = host;
  }

  /**
   * The outputs to try now. Those that must not be sent are settled, and those that are too old for
   * a destination that is down become dead letters.
   */
  due(outputs: Output[]): Output[] {
    const routes = this.#host.routes();
    const reason = this.#downReason();
    return outputs.filter((output) => {
      // Routes have seldom changed since the output's code ran.
      if (output.item.routes !== routes && this.#settledUntried(output)) return false;
      if (reason === undefined || this.#ageMs(output) <= this.#host.retryWindowMs) return true;
      // Trying each of them would take longer than events come in, and the log would grow
      // meanwhile.
      this.giveUp([output], reason);
      return false;
    });
  }

  /** They went through, but for those that the receiver refused. */
  delivered(outputs: readonly Output[], refused?: ReadonlyMap<number, string>): void {
    for (const [index, reason] of refused ?? []) this.giveUp([outputs[index]!], reason);
    const taken = refused ? outputs.filter((_, index) => !refused.has(index)) : outputs;
    this.#host.settle(taken, { kind: "delivered" });
  }

  /** An attempt failed but may work later: returns those that are not given up. */
  failed(outputs: readonly Output[], reason: string): Output[] {
    return outputs.filter((output) => !this.#isGivenUp(output, reason));
  }

  giveUp(outputs: readonly Output[], reason: string): void {
    this.#host.settle(outputs, { kind: "dead-letter", stage: "deliver", reason });
  }

  #settledUntried(output: Output): boolean {
    const standing = this.#host.standing(output);
    if (standing.kind === "discard") this.#host.settle([output], { kind: "discarded" });
    if (standing.kind === "refused") this.giveUp([output], standing.reason);
    return standing.kind !== "send";
  }

  /**
   * Why the destination counts as down: no attempt got through for a while, and the last was made
   * just now.
   */
  #downReason(): string | undefined {
    const failure = this.#host.failure();
    if (failure === undefined) return undefined;
    const now = this.#host.elapsed();
    const isDown = now - failure.since >= DOWN_MS_MIN && now - failure.at <= DOWN_MS_MIN;
    return isDown ? failure.reason : undefined;
  }

  #ageMs(output: Output): number {
    return this.#host.age(output.item.bornAt);
  }

  #isGivenUp(output: Output, reason: string): boolean {
    const { attempts } = output;
    if (attempts === 0) return false;
    const tally = this.#host.tally();
    output.firstFailure ??= tally;
    const failing = {
      attempts,
      ageMs: this.#ageMs(output),
      othersDelivered: tally.delivered - output.firstFailure.delivered,
      othersFailed: tally.failed - output.firstFailure.failed - (attempts - 1),
    };
    const hopeless = isGivenUp(failing, this.#host.retryWindowMs);
    if (hopeless) this.giveUp([output], reason);
    return hopeless;
  }
}
