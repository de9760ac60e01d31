import type { Verdict } from "../destinations/destination.ts";
import { DELIVERY_BYTES_MAX, DOWN_MS_MIN, SPLIT_ATTEMPTS_MIN } from "../limits.ts";
import type { Ending, Output, Tally } from "./item.ts";
import { Queue } from "./queue.ts";
import { isHopeless, retryDelayMs } from "./retry.ts";
import type { Standing } from "./router.ts";

/** What a partition asks of its lane. */
export interface PartitionHost {
  batchSize(): number;
  retryWindowMs: number;
  now(): number;
  random(): number;
  /** False once the lane stops: what has not settled stays pending. */
  running(): boolean;
  /** Takes up what changed in the catalog: called before each attempt. */
  refresh(): void;
  standing(output: Output): Standing;
  deliver(outputs: readonly Output[]): Promise<Verdict>;
  settle(output: Output, ending: Ending): void;
  /** Waits, but not longer than until the lane's settings change. */
  pause(ms: number): Promise<void>;
  /** Of the whole lane. */
  tally(): Tally;
  /** All attempts of the lane have failed since: the first of them, and the last with why. */
  failure(): { since: number; at: number; reason: string } | undefined;
}

/** Outputs of one part of a lane's users: delivered in order, a failing one holds up the rest. */
export class Partition {
  readonly #host: PartitionHost;
  readonly #queue = new Queue<Output>();
  #working: Promise<void> | undefined;
  /** Failed attempts since the last answer; a new event does not start from the shortest delay. */
  #failures = 0;

  constructor(host: PartitionHost) {
    this.#host = host;
  }

  push(output: Output): void {
    this.#queue.push(output);
    // Later in this turn, so that what is pushed together is delivered together.
    this.#working ??= Promise.resolve().then(() => this.#work());
  }

  /** Resolves when nothing is under way: at once when idle, soon after the lane stopped. */
  async ended(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0 && this.#host.running()) {
      await this.#settleAll(this.#take());
    }
    this.#working = undefined;
  }

  /** The next outputs that make one delivery. */
  #take(): Output[] {
    const outputs: Output[] = [];
    let bytes = 0;
    const count = this.#host.batchSize();
    while (this.#queue.length > 0 && outputs.length < count) {
      bytes += this.#queue.first!.bytes.length;
      if (outputs.length > 0 && bytes > DELIVERY_BYTES_MAX) break;
      outputs.push(this.#queue.shift()!);
    }
    return outputs;
  }

  /** Tries until every output has settled, or the lane stops. */
  async #settleAll(outputs: Output[]): Promise<void> {
    let rest = outputs;
    // Falls to one when the receiver refuses several: only alone they show which one it is.
    let size = outputs.length;
    while (this.#host.running()) {
      this.#host.refresh();
      rest = rest.filter((output) => !this.#settledUntried(output));
      const tried = rest.slice(0, Math.min(size, this.#host.batchSize()));
      if (tried.length === 0) return;
      const verdict = await this.#host.deliver(tried);
      for (const output of tried) output.attempts += 1;
      this.#failures = verdict.kind === "retry" ? this.#failures + 1 : 0;
      if (verdict.kind === "delivered") {
        for (const output of tried) this.#host.settle(output, { kind: "delivered" });
        rest = rest.slice(tried.length);
      } else if (verdict.kind === "rejected") {
        if (tried.length === 1) this.#giveUp(tried[0]!, verdict.reason);
        rest = tried.length === 1 ? rest.slice(1) : rest;
        size = 1;
      } else {
        rest = rest.filter((output) => !this.#isGivenUp(output, verdict.reason));
        if (tried[0]!.attempts >= SPLIT_ATTEMPTS_MIN) size = 1;
        if (rest[0] !== tried[0]) continue;
        const { afterMs } = verdict;
        await this.#host.pause(retryDelayMs(this.#failures, this.#host.random(), afterMs));
      }
    }
  }

  /** Ends what must not be sent, and what is too old for a destination that is known to be down. */
  #settledUntried(output: Output): boolean {
    const standing = this.#host.standing(output);
    if (standing.kind === "discard") this.#host.settle(output, { kind: "discarded" });
    if (standing.kind === "refused") this.#giveUp(output, standing.reason);
    if (standing.kind !== "send") return true;
    const reason = this.#downReason();
    if (reason === undefined || this.#ageMs(output) <= this.#host.retryWindowMs) return false;
    // An attempt for each would take longer than they come in, and the log grow meanwhile.
    this.#giveUp(output, reason);
    return true;
  }

  /** Why the destination is down: for a while nothing got through, and it was tried just now. */
  #downReason(): string | undefined {
    const failure = this.#host.failure();
    if (failure === undefined) return undefined;
    const now = this.#host.now();
    const isDown = now - failure.since >= DOWN_MS_MIN && now - failure.at <= DOWN_MS_MIN;
    return isDown ? failure.reason : undefined;
  }

  #ageMs(output: Output): number {
    return this.#host.now() - output.item.bornAt;
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
    const hopeless = isHopeless(failing, this.#host.retryWindowMs);
    if (hopeless) this.#giveUp(output, reason);
    return hopeless;
  }

  #giveUp(output: Output, reason: string): void {
    this.#host.settle(output, { kind: "dead-letter", stage: "deliver", reason });
  }
}
