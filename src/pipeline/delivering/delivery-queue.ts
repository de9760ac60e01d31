import { assert } from "../../assert.ts";
import { Fifo } from "../../concurrency/fifo.ts";
import type { DeliveryResult } from "../../destinations/destination.ts";
import {
  DELIVERY_BYTES_MAX,
  LANE_IN_FLIGHT_EVENTS_MAX,
  SPLIT_ATTEMPTS_MIN,
} from "../../settings/limits.ts";
import { Notifier } from "../clock.ts";
import type { Output } from "../model/lane-event.ts";
import { DeliveryPolicy, type DeliveryPolicyContext } from "./delivery-policy.ts";
import { retryDelayMs } from "./retry.ts";

/** Callbacks of a delivery queue into its lane. */
export interface DeliveryQueueContext extends DeliveryPolicyContext {
  batchSize(): number;
  /** Only outputs with the same key may go in one request. */
  batchKey(output: Output): string;
  random(): number;
  /** False once the lane stops: unsettled outputs stay pending. */
  isRunning(): boolean;
  /** Whether more outputs come soon, for which a request that is not full may wait. */
  expectsMore(): boolean;
  /** Applies changes of the catalog: called before each attempt. */
  refresh(): void;
  deliver(outputs: readonly Output[]): Promise<DeliveryResult>;
  sleep(ms: number, until: Notifier): Promise<void>;
  /** Stops the lane after a broken invariant. */
  fail(error: unknown): void;
}

/** Longest time that outputs wait for others to fill their request. */
const FILL_MS_MAX = 100;

/** Delivers outputs in order: while one fails, the outputs after it wait. */
export class DeliveryQueue {
  readonly #context: DeliveryQueueContext;
  readonly #policy: DeliveryPolicy;
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
  #mayRetryEarlier = false;
  /**
   * Failed attempts since the receiver last answered. The next event does not start again from the
   * shortest delay.
   */
  #failures = 0;

  constructor(context: DeliveryQueueContext) {
    this.#context = context;
    this.#policy = new DeliveryPolicy(context);
  }

  push(output: Output): void {
    this.#queue.push(output);
    this.#queuedBytes += output.bytes.length;
    // The work starts later in this turn of the event loop, so that outputs that are pushed
    // together
    // are delivered together.
    this.#working ??= Promise.resolve()
      .then(() => this.#work())
      .catch((error) => this.#context.fail(error));
    if (!this.#isPaused && this.#isFull()) this.#wake.notify();
  }

  /** Outputs before a new one; a queue whose attempts fail counts as longer than any other. */
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

  /** Ends all waiting: settings changed, or the lane stops. */
  interruptWait(): void {
    this.#wake.notify();
  }

  /** Sends the queued outputs, since nothing more comes for now. Failed attempts keep waiting. */
  flush(): void {
    if (!this.#isPaused) this.#wake.notify();
  }

  /**
   * Retries now, since the destination takes events again. Returns whether the queue was waiting.
   */
  resume(): boolean {
    const waited = this.#mayRetryEarlier;
    if (waited) this.#wake.notify();
    return waited;
  }

  /** Resolves when no attempt is under way: at once when idle, soon after the lane stopped. */
  async ended(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0 && this.#context.isRunning()) {
      if (this.#context.expectsMore() && !this.#isFull()) {
        await this.#context.sleep(FILL_MS_MAX, this.#wake);
      }
      const outputs = this.#take();
      this.#trying = outputs.length;
      await this.#settleAll(outputs);
      this.#trying = 0;
    }
    this.#working = undefined;
  }

  /** Whether the queued outputs fill a request. */
  #isFull(): boolean {
    const isFullByCount = this.#queue.length >= this.#context.batchSize();
    return isFullByCount || this.#queuedBytes >= DELIVERY_BYTES_MAX;
  }

  /** Takes the next outputs that fit into one request. */
  #take(): Output[] {
    const outputs: Output[] = [];
    let bytes = 0;
    const count = this.#context.batchSize();
    const key = count > 1 ? this.#context.batchKey(this.#queue.first!) : "";
    while (this.#queue.length > 0 && outputs.length < count) {
      const next = this.#queue.first!;
      const { length } = next.bytes;
      if (outputs.length > 0 && bytes + length > DELIVERY_BYTES_MAX) break;
      if (outputs.length > 0 && this.#context.batchKey(next) !== key) break;
      bytes += length;
      outputs.push(this.#queue.shift()!);
    }
    this.#queuedBytes -= bytes;
    assert(this.#queuedBytes >= 0, "A delivery queue holds no negative number of bytes");
    return outputs;
  }

  /** Tries until every output has settled, or the lane stops. */
  async #settleAll(outputs: Output[]): Promise<void> {
    let rest = outputs;
    let size = outputs.length;
    // The receiver refuses a batch because of one of its events; only alone they show which one.
    let isAlone = false;
    while (this.#context.isRunning()) {
      this.#context.refresh();
      rest = this.#policy.selectDue(rest);
      const tried = rest.slice(0, Math.min(size, this.#context.batchSize()));
      if (tried.length === 0) return;
      const result = await this.#context.deliver(tried);
      for (const output of tried) output.attempts += 1;
      this.#failures = result.kind === "retry" ? this.#failures + 1 : 0;
      if (result.kind === "delivered") {
        this.#policy.settleDelivered(tried, result.refused);
        rest = rest.slice(tried.length);
        // A batch was split because the receiver was down; its parts grow together again step by
        // step.
        if (!isAlone) size *= 2;
      } else if (result.kind === "rejected") {
        if (tried.length === 1) this.#policy.giveUp(tried, result.reason);
        rest = tried.length === 1 ? rest.slice(1) : rest;
        isAlone = true;
        size = 1;
      } else {
        rest = this.#policy.selectRetryable(rest, result.reason);
        if (tried[0]!.attempts >= SPLIT_ATTEMPTS_MIN) size = 1;
        if (rest[0] !== tried[0]) continue;
        await this.#pause(result.afterMs);
      }
    }
  }

  async #pause(afterMs: number | undefined): Promise<void> {
    this.#isPaused = true;
    this.#mayRetryEarlier = afterMs === undefined;
    const ms = retryDelayMs(this.#failures, this.#context.random(), afterMs);
    await this.#context.sleep(ms, this.#wake);
    this.#isPaused = false;
    this.#mayRetryEarlier = false;
  }
}
