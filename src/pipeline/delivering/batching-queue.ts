import { assert } from "../../assert.ts";
import { Fifo } from "../../concurrency/fifo.ts";
import type { BatchLimits, DeliveryResult } from "../../destinations/destination.ts";
import { Notifier } from "../clock.ts";
import type { Output } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import { createDeliveryIntent } from "./delivery-intent.ts";
import { DeliveryPolicy } from "./delivery-policy.ts";
import type { DeliveryQueueContext } from "./delivery-queue.ts";
import { retryDelayMs } from "./retry.ts";

/** Callbacks of a batching queue into its lane. */
export interface BatchingQueueContext
  extends Omit<DeliveryQueueContext, "batchKey" | "expectsMore" | "deliver"> {
  batchLimits(): BatchLimits;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves once the intent of a delivery survives a crash. */
  writeIntent(intent: DeliveryIntent): Promise<void>;
  hasWrittenIntent(name: string): boolean;
  /** Removes the intent of a delivery that has ended, together with its events. */
  clearIntent(): void;
  deliver(outputs: readonly Output[], name: string): Promise<DeliveryResult>;
}

/** While a recovered delivery is assembled: interval of checks whether the lane still runs. */
const RECOVERY_POLL_MS = 1_000;

/**
 * Gathers outputs until they make a large delivery. One delivery runs at a time, and the next
 * begins after it has ended: a crash leaves at most one delivery whose result is unknown. That one
 * is recovered: repeated under its name, with its events.
 */
export class BatchingQueue {
  readonly #context: BatchingQueueContext;
  readonly #policy: DeliveryPolicy;
  readonly #queue = new Fifo<Output>();
  #queuedBytes = 0;
  /** When the first queued output began to wait, or a little later. */
  #waitingSince = 0;
  /** Outputs that are delivered without waiting for more. */
  #flushed = 0;
  /** Name of the delivery before a crash: the first outputs are its, whatever their size. */
  #recovered: string | undefined;
  #working: Promise<void> | undefined;
  readonly #wake = new Notifier();
  #failures = 0;

  constructor(context: BatchingQueueContext, recovered: string | undefined) {
    this.#context = context;
    this.#policy = new DeliveryPolicy(context);
    this.#recovered = recovered;
  }

  push(output: Output): void {
    if (this.#queue.length === 0) this.#waitingSince = this.#context.elapsed();
    this.#queue.push(output);
    this.#queuedBytes += output.bytes.length;
    this.#working ??= Promise.resolve()
      .then(() => this.#work())
      .catch((error) => this.#context.fail(error));
    if (this.#isFull()) this.#wake.notify();
  }

  /**
   * Delivers all queued outputs now: there is no room for more, or the recovered delivery is
   * complete.
   */
  flush(): void {
    if (this.#recovered !== undefined && this.#queue.length === 0) {
      // All events of the delivery ended without an output this time.
      this.#recovered = undefined;
      this.#context.clearIntent();
    }
    this.#flushed = this.#queue.length;
    this.#wake.notify();
  }

  /** Ends waiting: settings changed, or the lane stops. */
  interruptWait(): void {
    this.#wake.notify();
  }

  /** Resolves when no delivery is under way: soon after the lane stopped. */
  async ended(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0 && this.#context.isRunning()) {
      await this.#waitUntilDue();
      if (!this.#context.isRunning()) break;
      const outputs = this.#take();
      const name = this.#recovered ?? (await this.#writeIntent(outputs));
      this.#recovered = undefined;
      if (name !== undefined) await this.#settleAll(outputs, name);
    }
    this.#working = undefined;
  }

  async #waitUntilDue(): Promise<void> {
    while (this.#context.isRunning() && this.#flushed === 0 && !this.#isFull()) {
      const { ageMs } = this.#context.batchLimits();
      const left = this.#waitingSince + ageMs - this.#context.elapsed();
      if (this.#recovered === undefined && left <= 0) return;
      const ms = this.#recovered === undefined ? left : RECOVERY_POLL_MS;
      await this.#context.sleep(ms, this.#wake);
    }
  }

  #isFull(): boolean {
    if (this.#recovered !== undefined) return false;
    const { batchSize, batchLimits } = this.#context;
    return this.#queue.length >= batchSize() || this.#queuedBytes >= batchLimits().bytes;
  }

  /**
   * Takes the next delivery. All outputs of one event stay together: an event is pending as a
   * whole.
   */
  #take(): Output[] {
    const isRecovered = this.#recovered !== undefined;
    const count = isRecovered ? this.#flushed : this.#context.batchSize();
    const bytesMax = isRecovered ? Number.POSITIVE_INFINITY : this.#context.batchLimits().bytes;
    const outputs: Output[] = [];
    let bytes = 0;
    while (this.#queue.length > 0) {
      const { laneEvent, bytes: json } = this.#queue.first!;
      const isOver = outputs.length >= count || bytes + json.length > bytesMax;
      if (isOver && outputs.length > 0 && outputs.at(-1)!.laneEvent !== laneEvent) break;
      bytes += json.length;
      outputs.push(this.#queue.shift()!);
    }
    this.#queuedBytes -= bytes;
    assert(this.#queuedBytes >= 0, "A delivery queue holds no negative number of bytes");
    this.#flushed = Math.max(0, this.#flushed - outputs.length);
    this.#waitingSince = this.#context.elapsed();
    return outputs;
  }

  /**
   * Writes the intent of a delivery and returns its name; undefined when the lane stops before. A
   * delivery of a kind without an age limit has an empty name and no intent.
   */
  async #writeIntent(outputs: readonly Output[]): Promise<string | undefined> {
    if (this.#context.batchLimits().ageMs === 0) return "";
    const intent = createDeliveryIntent(outputs, this.#context.now());
    const written = this.#context.writeIntent(intent).then(() => true);
    while (this.#context.isRunning()) {
      if (await this.#wake.unlessNotified(written)) return intent.name;
    }
    return undefined;
  }

  /** Tries until every output has settled, or the lane stops. All outputs go together each time. */
  async #settleAll(outputs: Output[], name: string): Promise<void> {
    let rest = outputs;
    while (this.#context.isRunning()) {
      this.#context.refresh();
      rest = this.#policy.selectDue(rest);
      if (rest.length === 0) return this.#context.clearIntent();
      assert(
        name === "" || this.#context.hasWrittenIntent(name),
        "The intent of a batched delivery is written before the delivery",
      );
      const result = await this.#context.deliver(rest, name);
      for (const output of rest) output.attempts += 1;
      this.#failures = result.kind === "retry" ? this.#failures + 1 : 0;
      if (result.kind === "delivered") this.#policy.settleDelivered(rest, result.refused);
      else if (result.kind === "rejected") this.#policy.giveUp(rest, result.reason);
      else {
        rest = this.#policy.selectRetryable(rest, result.reason);
        if (rest.length > 0) await this.#pause(result.afterMs);
        continue;
      }
      return this.#context.clearIntent();
    }
  }

  async #pause(afterMs: number | undefined): Promise<void> {
    const ms = retryDelayMs(this.#failures, this.#context.random(), afterMs);
    await this.#context.sleep(ms, this.#wake);
  }
}
