import type { Verdict } from "../../destinations/destination.ts";
import { DELIVERY_BYTES_MAX, LANE_IN_FLIGHT_EVENTS_MAX, SPLIT_ATTEMPTS_MIN } from "../../limits.ts";
import { Notifier } from "../clock.ts";
import type { Ending, Output, Tally } from "../item.ts";
import { DOWN_MS_MIN } from "../limits.ts";
import type { Routes, Standing } from "../reading/routes.ts";
import { Fifo } from "./fifo.ts";
import { isHopeless, retryDelayMs } from "./retry.ts";

/** What a queue asks of its lane. */
export interface DeliveryQueueHost {
  batchSize(): number;
  retryWindowMs: number;
  elapsed(): number;
  age(at: number): number;
  random(): number;
  /** False once the lane stops; what has not settled then stays pending. */
  running(): boolean;
  /** Whether more outputs come soon, for which a request that is not full may wait. */
  filling(): boolean;
  /** Takes up what changed in the catalog: called before each attempt. */
  refresh(): void;
  routes(): Routes;
  standing(output: Output): Standing;
  deliver(outputs: readonly Output[]): Promise<Verdict>;
  settle(outputs: readonly Output[], ending: Ending): void;
  sleep(ms: number, until: Notifier): Promise<void>;
  /** Attempts of the whole lane. */
  tally(): Tally;
  /**
   * Set while every attempt of the lane fails: when the first and the last of them failed, and why
   * the last.
   */
  failure(): { since: number; at: number; reason: string } | undefined;
}

/** Longest time that outputs wait for others to fill their request. */
const FILL_MS_MAX = 100;

/** Outputs that are delivered in order: while one fails, those behind it wait. */
export class DeliveryQueue {
  readonly #host: DeliveryQueueHost;
  readonly #queue = new Fifo<Output>();
  #queuedBytes = 0;
  /** Outputs that were taken to be delivered and have not settled yet. */
  #trying = 0;
  #working: Promise<void> | undefined;
  /** Ends the queue's waiting. */
  readonly #wake = new Notifier();
  /** Whether the queue waits for its next attempt. */
  #isPaused = false;
  /** Whether the next attempt may be made earlier: the receiver has not said how long to wait. */
  #isPatient = false;
  /**
   * Failed attempts since the receiver last answered. The next event does not start again from the
   * shortest delay.
   */
  #failures = 0;

  constructor(host: DeliveryQueueHost) {
    this.#host = host;
  }

  push(output: Output): void {
    this.#queue.push(output);
    this.#queuedBytes += output.bytes.length;
    // The work starts later in this turn of the event loop, so that what is pushed together is
    // delivered together.
    this.#working ??= Promise.resolve().then(() => this.#work());
    if (!this.#isPaused && this.#isFull()) this.#wake.notify();
  }

  /**
   * How many outputs stand before a new one; a queue whose attempts fail has more than any other.
   */
  get load(): number {
    const waiting = this.#queue.length + this.#trying;
    return this.#failures > 0 ? waiting + LANE_IN_FLIGHT_EVENTS_MAX : waiting;
  }

  get isTrying(): boolean {
    return this.#trying > 0;
  }

  /** Whether another output would still go into the request that is being filled. */
  get hasRoom(): boolean {
    return this.#queue.length > 0 && !this.#isFull() && this.#failures === 0;
  }

  /** Ends all waiting: settings changed, or the lane ends. */
  hurry(): void {
    this.#wake.notify();
  }

  /** Sends what is here, since nothing more comes for now. Failed attempts keep waiting. */
  flush(): void {
    if (!this.#isPaused) this.#wake.notify();
  }

  /** The destination takes events again. Returns whether the queue was waiting for that. */
  resume(): boolean {
    const waited = this.#isPatient;
    if (waited) this.#wake.notify();
    return waited;
  }

  /** Resolves when no attempt is under way: at once when idle, soon after the lane stopped. */
  async ended(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0 && this.#host.running()) {
      if (this.#host.filling() && !this.#isFull()) await this.#host.sleep(FILL_MS_MAX, this.#wake);
      const outputs = this.#take();
      this.#trying = outputs.length;
      await this.#settleAll(outputs);
      this.#trying = 0;
    }
    this.#working = undefined;
  }

  /** Whether the waiting outputs fill a request. */
  #isFull(): boolean {
    return this.#queue.length >= this.#host.batchSize() || this.#queuedBytes >= DELIVERY_BYTES_MAX;
  }

  /** The next outputs that fit into one request. */
  #take(): Output[] {
    const outputs: Output[] = [];
    let bytes = 0;
    const count = this.#host.batchSize();
    while (this.#queue.length > 0 && outputs.length < count) {
      const { length } = this.#queue.first!.bytes;
      if (outputs.length > 0 && bytes + length > DELIVERY_BYTES_MAX) break;
      bytes += length;
      outputs.push(this.#queue.shift()!);
    }
    this.#queuedBytes -= bytes;
    return outputs;
  }

  /** Tries until every output has settled, or the lane stops. */
  async #settleAll(outputs: Output[]): Promise<void> {
    let rest = outputs;
    let size = outputs.length;
    // The receiver refuses a batch because of one of its events; only alone they show which one.
    let isAlone = false;
    while (this.#host.running()) {
      this.#host.refresh();
      rest = this.#due(rest);
      const tried = rest.slice(0, Math.min(size, this.#host.batchSize()));
      if (tried.length === 0) return;
      const verdict = await this.#host.deliver(tried);
      for (const output of tried) output.attempts += 1;
      this.#failures = verdict.kind === "retry" ? this.#failures + 1 : 0;
      if (verdict.kind === "delivered") {
        this.#settleDelivered(tried, verdict.refused);
        rest = rest.slice(tried.length);
        // A batch was split because the receiver was down; its parts grow together again step by
        // step.
        if (!isAlone) size *= 2;
      } else if (verdict.kind === "rejected") {
        if (tried.length === 1) this.#giveUp(tried, verdict.reason);
        rest = tried.length === 1 ? rest.slice(1) : rest;
        isAlone = true;
        size = 1;
      } else {
        rest = rest.filter((output) => !this.#isGivenUp(output, verdict.reason));
        if (tried[0]!.attempts >= SPLIT_ATTEMPTS_MIN) size = 1;
        if (rest[0] !== tried[0]) continue;
        await this.#pause(verdict.afterMs);
      }
    }
  }

  #settleDelivered(outputs: readonly Output[], refused?: ReadonlyMap<number, string>): void {
    for (const [index, reason] of refused ?? []) this.#giveUp([outputs[index]!], reason);
    const taken = refused ? outputs.filter((_, index) => !refused.has(index)) : outputs;
    this.#host.settle(taken, { kind: "delivered" });
  }

  async #pause(afterMs: number | undefined): Promise<void> {
    this.#isPaused = true;
    this.#isPatient = afterMs === undefined;
    const ms = retryDelayMs(this.#failures, this.#host.random(), afterMs);
    await this.#host.sleep(ms, this.#wake);
    this.#isPaused = false;
    this.#isPatient = false;
  }

  /**
   * The outputs to try now. Those that must not be sent are settled, and those that are too old for
   * a destination that is down become dead letters.
   */
  #due(outputs: Output[]): Output[] {
    const routes = this.#host.routes();
    const reason = this.#downReason();
    return outputs.filter((output) => {
      // Routes have seldom changed since the output's code ran.
      if (output.item.routes !== routes && this.#settledUntried(output)) return false;
      if (reason === undefined || this.#ageMs(output) <= this.#host.retryWindowMs) return true;
      // Trying each of them would take longer than events come in, and the log would grow
      // meanwhile.
      this.#giveUp([output], reason);
      return false;
    });
  }

  #settledUntried(output: Output): boolean {
    const standing = this.#host.standing(output);
    if (standing.kind === "discard") this.#host.settle([output], { kind: "discarded" });
    if (standing.kind === "refused") this.#giveUp([output], standing.reason);
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
    const hopeless = isHopeless(failing, this.#host.retryWindowMs);
    if (hopeless) this.#giveUp([output], reason);
    return hopeless;
  }

  #giveUp(outputs: readonly Output[], reason: string): void {
    this.#host.settle(outputs, { kind: "dead-letter", stage: "deliver", reason });
  }
}
