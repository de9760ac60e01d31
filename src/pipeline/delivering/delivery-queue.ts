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

/** Functions of the lane that a delivery queue calls. */
export interface DeliveryQueueContext extends DeliveryPolicyContext {
  batchSize(): number;
  /** Returns a key for the output. Only outputs with equal keys may share a request. */
  batchKey(output: Output): string;
  random(): number;
  /** False once the lane stops. Outputs without a final outcome then stay pending. */
  isRunning(): boolean;
  /**
   * Whether more outputs will follow soon, so that a request that is not full may wait for them.
   */
  expectsMore(): boolean;
  /** Applies changes of the catalog. Called before each attempt. */
  refresh(): void;
  deliver(outputs: readonly Output[]): Promise<DeliveryResult>;
  sleep(ms: number, until: Notifier): Promise<void>;
  /** Stops the lane because an invariant was broken. */
  fail(error: unknown): void;
}

/** Longest time in milliseconds that outputs wait for more outputs to fill their request. */
const FILL_MS_MAX = 100;

/** Delivers outputs in order: while one fails, the outputs after it wait. */
export class DeliveryQueue {
  readonly #context: DeliveryQueueContext;
  readonly #policy: DeliveryPolicy;
  readonly #queue = new Fifo<Output>();
  #queuedBytes = 0;
  /**
   * Number of outputs that were taken from the queue for delivery and have no final outcome yet.
   */
  #trying = 0;
  #working: Promise<void> | undefined;
  /** Notified to end a wait of the queue early. */
  readonly #wake = new Notifier();
  /** Whether the queue is waiting between a failed attempt and the next one. */
  #isPaused = false;
  /**
   * Whether the wait after a failed attempt may be cut short. False when the receiver has asked for
   * a certain delay, or when there is no such wait.
   */
  #mayRetryEarlier = false;
  /**
   * Number of failed attempts since the receiver last answered. Counted across events, so that the
   * next event does not start again from the shortest retry delay.
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

  /**
   * Number of outputs that a new output would wait for. A queue whose attempts fail gets a number
   * above that of any other queue.
   */
  get load(): number {
    const waiting = this.#queue.length + this.#trying;
    return this.#failures > 0 ? waiting + LANE_IN_FLIGHT_EVENTS_MAX : waiting;
  }

  get isTrying(): boolean {
    return this.#trying > 0;
  }

  /** Whether another output would still fit into the request that is being filled. */
  get hasRoom(): boolean {
    return this.#queue.length > 0 && !this.#isFull() && this.#failures === 0;
  }

  /** Ends any wait early, because settings changed or the lane stops. */
  interruptWait(): void {
    this.#wake.notify();
  }

  /**
   * Sends the queued outputs without waiting for more. Does not shorten the wait after a failure.
   */
  flush(): void {
    if (!this.#isPaused) this.#wake.notify();
  }

  /**
   * Retries now, because the destination accepts events again. Returns whether the queue was in a
   * wait that could be cut short.
   */
  resume(): boolean {
    const waited = this.#mayRetryEarlier;
    if (waited) this.#wake.notify();
    return waited;
  }

  /** Resolves when no attempt is running: at once when idle, or soon after the lane was stopped. */
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

  /** Whether the queued outputs are enough to fill a request. */
  #isFull(): boolean {
    const isFullByCount = this.#queue.length >= this.#context.batchSize();
    return isFullByCount || this.#queuedBytes >= DELIVERY_BYTES_MAX;
  }

  /** Removes from the queue the next outputs that fit into one request. */
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

  /** Tries the outputs until each has a final outcome, or the lane stops. */
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
