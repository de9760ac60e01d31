import { assert } from "../../assert.ts";
import { Fifo } from "../../concurrency/fifo.ts";
import type { BatchLimits } from "../../destinations/destination.ts";
import { type Clock, Notifier } from "../clock.ts";
import type { AttemptResult } from "../model/attempt.ts";
import type { Output } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import { DeliveryPolicy } from "./delivery-policy.ts";
import type { DeliveryQueueContext } from "./delivery-queue.ts";
import { retryDelayMs } from "./retry.ts";

/** Functions of a lane (the delivery to one destination) that its batching queue calls. */
export interface BatchingQueueContext
  extends Omit<DeliveryQueueContext, "batchKey" | "expectsMore" | "deliver"> {
  batchLimits(): BatchLimits;
  clock: Clock;
  committer: {
    /**
     * Stores the intent of a delivery: its name and which events belong to it. After a crash or a
     * stop, the delivery is repeated with the same name and events. Resolves when the intent is on
     * disk.
     */
    writeIntent(intent: DeliveryIntent): Promise<void>;
    hasWrittenIntent(name: string): boolean;
    /**
     * Removes the stored intent of a delivery that has ended. The removal is written in one
     * transaction with the outcomes of the delivery's events.
     */
    clearIntent(): void;
  };
  deliver(outputs: readonly Output[], name: string): Promise<AttemptResult>;
}

/**
 * Interval in milliseconds at which the queue checks whether delivery was stopped, while it waits
 * for all events of a delivery that a crash or a normal stop interrupted.
 */
const RECOVERY_POLL_MS = 1_000;

/**
 * Gathers events into large deliveries, such as files, and sends one at a time. A delivery that a
 * crash or stop interrupted is repeated with the same name and events, so that it replaces what was
 * written.
 */
export class BatchingQueue {
  readonly #context: BatchingQueueContext;
  readonly #policy: DeliveryPolicy;
  readonly #queue = new Fifo<Output>();
  #queuedBytes = 0;
  /**
   * Time, by `clock.elapsed()`, at which the queue began to wait for more events: when an event
   * came into the empty queue, or when the previous delivery's events were taken from the queue.
   */
  #waitingSince = 0;
  /** Number of events at the front of the queue that are delivered without waiting for more. */
  #flushed = 0;
  /**
   * Name of the delivery that a crash or a normal stop interrupted, until its events are taken from
   * the queue; undefined otherwise. The limits of number and size do not apply to this delivery.
   */
  #recovered: string | undefined;
  #working: Promise<void> | undefined;
  readonly #wake = new Notifier();
  /**
   * Whether the queue waits between a failed attempt and the next one. New events and calls of
   * `flush` do not end this wait: both are frequent while a destination fails, and would leave no
   * pause.
   */
  #isPaused = false;
  #failures = 0;

  constructor(context: BatchingQueueContext, recovered: string | undefined) {
    this.#context = context;
    this.#policy = new DeliveryPolicy(context);
    this.#recovered = recovered;
  }

  push(output: Output): void {
    if (this.#queue.length === 0) this.#waitingSince = this.#context.clock.elapsed();
    this.#queue.push(output);
    this.#queuedBytes += output.bytes.length;
    this.#working ??= Promise.resolve()
      .then(() => this.#work())
      .catch((error) => this.#context.fail(error));
    if (!this.#isPaused && this.#isFull()) this.#wake.notify();
  }

  /**
   * Delivers all queued events without waiting for more. Called when memory is needed, and when all
   * events of the delivery that a crash or a normal stop interrupted are in the queue again.
   */
  flush(): void {
    this.#flushed = this.#queue.length;
    if (!this.#isPaused) this.#wake.notify();
  }

  /**
   * Ends the recovery of an interrupted delivery if the queue is empty; otherwise, the delivery of
   * the queued events ends it. Call `endRecovery` only after user code has run again over all
   * events of that delivery.
   */
  endRecovery(): void {
    if (this.#recovered === undefined || this.#queue.length > 0) return;
    this.#recovered = undefined;
    this.#context.committer.clearIntent();
  }

  /** Ends the queue's current wait early, because settings changed or the delivery stops. */
  interruptWait(): void {
    this.#wake.notify();
  }

  /** Resolves when no delivery is running. Call it only after `isRunning` has become false. */
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
      const left = this.#waitingSince + ageMs - this.#context.clock.elapsed();
      if (this.#recovered === undefined && left <= 0) return;
      const ms = this.#recovered === undefined ? left : RECOVERY_POLL_MS;
      await this.#context.clock.sleep(ms, this.#wake);
    }
  }

  #isFull(): boolean {
    if (this.#recovered !== undefined) return false;
    const { batchSize, batchLimits } = this.#context;
    return this.#queue.length >= batchSize() || this.#queuedBytes >= batchLimits().bytes;
  }

  /**
   * Removes the next delivery's events from the queue and returns them. All outputs of one received
   * event go into the same delivery, because the read position in the log covers whole received
   * events only.
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
    this.#waitingSince = this.#context.clock.elapsed();
    return outputs;
  }

  /**
   * Stores the intent of a delivery (its name and events) and returns the name; undefined if
   * `isRunning` becomes false first. If `ageMs` is 0, nothing is gathered: stores no intent, and
   * returns an empty name.
   */
  async #writeIntent(outputs: readonly Output[]): Promise<string | undefined> {
    if (this.#context.batchLimits().ageMs === 0) return "";
    const intent = createDeliveryIntent(outputs, this.#context.clock.now());
    const written = this.#context.committer.writeIntent(intent).then(() => true);
    while (this.#context.isRunning()) {
      if (await this.#wake.unlessNotified(written)) return intent.name;
    }
    return undefined;
  }

  /**
   * Attempts a delivery until each of its events has a final outcome, or `isRunning` is false.
   * Records delivered events only at the end, so that an interrupted delivery is repeated with all
   * of its events.
   */
  async #settleAll(outputs: Output[], name: string): Promise<void> {
    const written: Output[] = [];
    let rest = outputs;
    while (this.#context.isRunning()) {
      this.#context.refresh();
      rest = this.#policy.selectDue(rest);
      if (rest.length === 0) break;
      assert(
        name === "" || this.#context.committer.hasWrittenIntent(name),
        "The intent of a batched delivery is written before the delivery",
      );
      const result = await this.#context.deliver(rest, name);
      // The stop may have aborted the attempt. The next start repeats the delivery.
      if (result.kind === "retry" && !this.#context.isRunning()) return;
      this.#policy.recordAttempt(rest, result);
      this.#failures = result.kind === "retry" ? this.#failures + 1 : 0;
      if (result.kind === "delivered") this.#policy.settleDelivered(rest, result.refused);
      if (result.kind === "rejected") this.#policy.giveUp(rest, result);
      if (result.kind !== "retry") {
        rest = [];
        break;
      }
      const { delivered = new Set() } = result;
      written.push(...rest.filter((_, index) => delivered.has(index)));
      rest = rest.filter((_, index) => !delivered.has(index));
      rest = this.#policy.selectRetryable(rest, result);
      if (rest.length > 0 && !result.isOutdated) await this.#pause(result.afterMs);
    }
    if (rest.length > 0 && !this.#context.isRunning()) return;
    this.#policy.settleDelivered(written);
    this.#context.committer.clearIntent();
  }

  async #pause(afterMs: number | undefined): Promise<void> {
    const ms = retryDelayMs(this.#failures, this.#context.clock.random(), afterMs);
    this.#isPaused = true;
    await this.#context.clock.sleep(ms, this.#wake);
    this.#isPaused = false;
  }
}

/**
 * Creates the intent of a batched delivery: its name and the range of its events. Names sort by
 * time, and are unique even if a restored backup or another server writes to the same bucket.
 */
export function createDeliveryIntent(outputs: readonly Output[], now: number): DeliveryIntent {
  const ends: Record<string, number> = {};
  const replays: Record<string, Record<string, number>> = {};
  let letter: string | undefined;
  for (const { laneEvent } of outputs) {
    const { origin } = laneEvent;
    if ("requeued" in origin) {
      if (letter === undefined || origin.requeued.id > letter) letter = origin.requeued.id;
      continue;
    }
    if ("replayId" in origin) replays[origin.replayId] ??= {};
    const positions = "replayId" in origin ? replays[origin.replayId]! : ends;
    positions[origin.log] = Math.max(positions[origin.log] ?? 0, origin.sequence + 1);
  }
  const time = new Date(now).toISOString().replace(/[-:.]/g, "");
  const random = crypto.getRandomValues(new Uint8Array(6)).toHex();
  const intent: DeliveryIntent = { name: `${time}-${positionName(outputs[0]!)}-${random}`, ends };
  if (letter !== undefined) intent.letter = letter;
  if (Object.keys(replays).length > 0) intent.replays = replays;
  return intent;
}

function positionName({ laneEvent: { origin } }: Output): string {
  if ("requeued" in origin) return "replay";
  const position = `${origin.log.replace(/[^\w.]/g, "_")}-${origin.sequence}`;
  return "replayId" in origin ? `replay-${position}` : position;
}
