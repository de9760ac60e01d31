import { assert } from "../../assert.ts";
import { Fifo } from "../../concurrency/fifo.ts";
import { DELIVERY_BYTES_MAX, LANE_IN_FLIGHT_EVENTS_MAX } from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import type { AttemptResult } from "../model/attempt.ts";
import type { Output } from "../model/lane-event.ts";
import { BatchDivider, QUICK_FAILURES_MAX } from "./batch-divider.ts";
import { DeliveryPolicy, type DeliveryPolicyContext } from "./delivery-policy.ts";
import { QueueWaits } from "./queue-waits.ts";
import { retryDelayMs } from "./retry.ts";
import { type RetryEntry, RetryQueue } from "./retry-queue.ts";

/** Functions of a lane (the delivery to one destination) that its delivery queue calls. */
export interface DeliveryQueueContext extends DeliveryPolicyContext {
  batchSize(): number;
  /** Returns the batch key of an event. Only events with equal keys may share a request. */
  batchKey(output: Output): string;
  clock: Pick<Clock, "elapsed" | "age" | "random" | "sleep">;
  /** Whether the lane runs. After a stop, events without an outcome wait for its next start. */
  isRunning(): boolean;
  /** Whether more events will follow soon. A request that is not full then waits for them. */
  expectsMore(): boolean;
  /** Applies changes of the catalog, such as a new config. Called before each attempt. */
  refresh(): void;
  deliver(outputs: readonly Output[]): Promise<AttemptResult>;
  /** Stops the delivery to this destination because an invariant was broken, which is a bug. */
  fail(error: unknown): void;
}

/** Longest time in milliseconds for which a request that is not full waits for more events. */
const FILL_MS_MAX = 100;
/** Minimum of `#failures` (failed attempts except retries) for a pause after a failed retry. */
const PAUSE_FAILURES_MIN = 2;

type Failure = Extract<AttemptResult, { kind: "retry" }>;

/**
 * Sends events to a destination, each user's events in order. An event that fails alone in a
 * request is retried later, while other users' events are sent. If these fail too, the pauses
 * between attempts become longer.
 */
export class DeliveryQueue {
  readonly #policy: DeliveryPolicy;
  readonly #queue = new Fifo<Output>();
  #queuedBytes = 0;
  /** Number of events of the running delivery or retry; 0 while none is running. */
  #running = 0;
  /** Events that failed as the only event of a request, each with later events of the same user. */
  readonly #retries: RetryQueue;
  /** Whether the last attempt was a retry from `#retries`. If so, queued events are next. */
  #hasRetried = false;
  readonly #divider = new BatchDivider();
  #working: Promise<void> | undefined;
  readonly #waits: QueueWaits;
  /**
   * Number of failed attempts, without retries of set-aside events, since the receiver last
   * accepted a request or rejected it for good. Not reset when the queue continues with other
   * events, because the pauses grow with this number.
   */
  #failures = 0;

  constructor(private readonly context: DeliveryQueueContext) {
    this.#policy = new DeliveryPolicy(context);
    this.#waits = new QueueWaits(context);
    this.#retries = new RetryQueue(context.outputCounts);
  }

  push(output: Output): void {
    this.#queue.push(output);
    this.#queuedBytes += output.bytes.length;
    // The work starts later in this turn of the event loop, so that outputs that are pushed
    // together are delivered together.
    this.#working ??= Promise.resolve()
      .then(() => this.#work())
      .catch((error) => this.context.fail(error));
    if (this.#waits.isIdle || (!this.#waits.isPaused && this.#isFull())) this.#waits.end();
  }

  /**
   * Number of events that are ahead of a new event in this queue. While attempts fail,
   * `LANE_IN_FLIGHT_EVENTS_MAX` is added, so that new events go to queues without failures first.
   */
  get load(): number {
    const waiting = this.#queue.length + this.#running;
    return this.#failures > 0 ? waiting + LANE_IN_FLIGHT_EVENTS_MAX : waiting;
  }

  get isTrying(): boolean {
    return this.#running > 0;
  }

  /** Whether the next request has events and room for more; false while attempts fail. */
  get hasRoom(): boolean {
    return this.#queue.length > 0 && !this.#isFull() && this.#failures === 0;
  }

  /** Makes all retries due and ends the wait, because settings changed or delivery stops. */
  interruptWait(): void {
    this.#retries.makeDue(this.context.clock.elapsed(), true);
    this.#waits.end();
  }

  /** Sends the queued events without waiting for more. Does not shorten a wait after a failure. */
  flush(): void {
    if (!this.#waits.isPaused) this.#waits.end();
  }

  /**
   * Makes retries due at once (see `RetryQueue.makeDue`), because the destination accepts events.
   * Returns true if this ended a wait of this queue. Otherwise the caller resumes another queue.
   */
  resume(): boolean {
    const hasRetries = this.#retries.makeDue(this.context.clock.elapsed());
    const waited = this.#waits.mayRetryEarlier || (this.#waits.isIdle && hasRetries);
    if (waited) this.#waits.end();
    return waited;
  }

  /** Resolves when no attempt is running: at once when idle, or soon after delivery was stopped. */
  async ended(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.context.isRunning()) {
      const retry = this.#dueRetry();
      if (retry !== undefined) await this.#retryAlone(retry);
      else if (this.#queue.length > 0) await this.#deliverNext();
      else if (this.#retries.isEmpty) break;
      else await this.#waits.idle(this.#retries.next()!.dueAt - this.context.clock.elapsed());
    }
    this.#working = undefined;
  }

  async #deliverNext(): Promise<void> {
    this.#hasRetried = false;
    if (this.context.expectsMore() && !this.#isFull()) await this.#waits.fill(FILL_MS_MAX);
    const outputs = this.#take();
    this.#running = outputs.length;
    await this.#settleAll(outputs);
    this.#running = 0;
  }

  /** Returns the retry to try next; undefined if none is due or queued events come first. */
  #dueRetry(): RetryEntry | undefined {
    if (this.#hasRetried && this.#queue.length > 0) return undefined;
    const next = this.#retries.next();
    if (next === undefined) return undefined;
    const isPressed = this.#retries.isPressed && this.#queue.length > 0;
    return isPressed || next.dueAt <= this.context.clock.elapsed() ? next : undefined;
  }

  /** Whether the queued events are enough to fill a request. */
  #isFull(): boolean {
    const isFullByCount = this.#queue.length >= this.context.batchSize();
    return isFullByCount || this.#queuedBytes >= DELIVERY_BYTES_MAX;
  }

  /** Takes a request's events. Events whose user has a set-aside event go to `#retries` instead. */
  #take(): Output[] {
    const outputs: Output[] = [];
    let bytes = 0;
    const count = this.context.batchSize();
    let key: string | undefined;
    // Without retries, no event waits behind another one, so that events need not be checked.
    const hasRetries = !this.#retries.isEmpty;
    while (this.#queue.length > 0 && outputs.length < count) {
      const next = this.#queue.first!;
      const { length } = next.bytes;
      const isBehind = hasRetries && this.#retries.addBehind(next, this.context.clock.elapsed());
      if (!isBehind && outputs.length > 0) {
        key ??= this.context.batchKey(outputs[0]!);
        if (bytes + length > DELIVERY_BYTES_MAX || this.context.batchKey(next) !== key) break;
      }
      this.#queue.shift();
      this.#queuedBytes -= length;
      if (isBehind) continue;
      bytes += length;
      outputs.push(next);
    }
    assert(this.#queuedBytes >= 0, "A delivery queue holds no negative number of bytes");
    return outputs;
  }

  /** Sends events until each has a final outcome or is set aside, or delivery stops. */
  async #settleAll(outputs: Output[]): Promise<void> {
    let rest = outputs;
    this.#divider.begin();
    while (this.context.isRunning()) {
      this.context.refresh();
      rest = this.#notBehind(this.#policy.selectDue(rest));
      if (rest.length === 0) return;
      const batchSize = this.context.batchSize();
      const state = { batchSize, failures: this.#failures, random: this.context.clock.random() };
      const { from, count } = this.#divider.choose(rest, state);
      const isOne = count === 1;
      const tried = count === rest.length ? rest : rest.slice(from, from + count);
      const result = await this.#deliver(tried);
      if (result.kind === "retry" && result.isOutdated) continue;
      if (result.kind === "delivered") this.#policy.settleDelivered(tried, result.refused);
      if (result.kind === "rejected" && isOne) this.#policy.giveUp(tried, result);
      const isExpected = this.#divider.record({ from, count, result, batchSize });
      if (result.kind === "delivered" && tried === rest) return;
      if (isOne || result.kind === "delivered") rest = rest.toSpliced(from, count);
      if (result.kind !== "retry") continue;
      // Attempts that a stop aborts say nothing about their outputs.
      if (!this.context.isRunning()) return;
      this.#failures += 1;
      if (isOne && this.#giveUpOrSetAside(tried[0]!, result)) continue;
      const isQuick = isExpected && this.#failures <= QUICK_FAILURES_MAX;
      if (!isQuick || result.afterMs !== undefined) await this.#pause(result.afterMs);
    }
  }

  /** Moves events to `#retries` if an earlier event of their user is there. Returns the others. */
  #notBehind(outputs: Output[]): Output[] {
    if (this.#retries.isEmpty) return outputs;
    return outputs.filter(
      (output) => !this.#retries.addBehind(output, this.context.clock.elapsed()),
    );
  }

  async #deliver(outputs: readonly Output[]): Promise<AttemptResult> {
    const result = await this.context.deliver(outputs);
    this.#policy.recordAttempt(outputs, result);
    const counts = this.context.outputCounts;
    counts.attempts += 1;
    if (result.kind === "retry") counts.failedAttempts += 1;
    else this.#failures = 0;
    return result;
  }

  /** Sets aside an event that failed alone. Returns true if it became a dead letter instead. */
  #giveUpOrSetAside(output: Output, failure: Failure): boolean {
    if (this.#policy.giveUpIfHopeless(output, failure, this.#retries.stateFor())) return true;
    this.#postpone(this.#retries.add(output), failure);
    return false;
  }

  #postpone(entry: RetryEntry, { scope, afterMs }: Failure): void {
    entry.failures += 1;
    entry.mayRetryEarlier = scope !== "event" && afterMs === undefined;
    const ms = retryDelayMs(entry.failures, this.context.clock.random(), afterMs);
    entry.dueAt = this.context.clock.elapsed() + ms;
  }

  /** Retries an event that was set aside. Later events of its user wait for its outcome. */
  async #retryAlone(entry: RetryEntry): Promise<void> {
    this.#hasRetried = true;
    this.context.refresh();
    const output = entry.outputs[0]!;
    const due = this.#policy.selectDue([output]);
    if (due.length === 0) return this.#release(entry);
    this.#running = 1;
    const result = await this.#deliver(due);
    this.#running = 0;
    if (result.kind === "delivered") this.#policy.settleDelivered(due, result.refused);
    else if (result.kind === "rejected") this.#policy.giveUp(due, result);
    else if (!this.context.isRunning() || result.isOutdated) return;
    else if (!this.#policy.giveUpIfHopeless(output, result, this.#retries.stateFor(entry))) {
      this.#postpone(entry, result);
      const isPressed = this.#retries.isPressed && this.#queue.length === 0;
      if (this.#policy.needsFollower(output, isPressed)) await this.#tryFollower(entry);
      // First attempts of other events failed as well, and the receiver has answered none since.
      const isFailing = this.#failures >= PAUSE_FAILURES_MIN && this.context.isRunning();
      if (isFailing) await this.#pause(undefined);
      return;
    }
    this.#release(entry);
  }

  /**
   * Sends the second event of `entry` while the first one keeps failing, to learn whether the
   * destination works. If the receiver accepts or finally rejects the second event, the first one
   * is retried at once.
   */
  async #tryFollower(entry: RetryEntry): Promise<void> {
    const follower = entry.outputs.slice(1, 2);
    const due = this.#policy.selectDue(follower);
    const result = due.length === 0 ? undefined : await this.#deliver(due);
    if (result?.kind === "delivered") this.#policy.settleDelivered(due, result.refused);
    if (result?.kind === "rejected") this.#policy.giveUp(due, result);
    if (follower.length === 0 || result?.kind === "retry") return;
    this.#retries.removeOutput(entry, 1);
    entry.dueAt = this.context.clock.elapsed();
  }

  /** Removes `entry`, whose first event is settled. Puts its other events back into the queue. */
  #release(entry: RetryEntry): void {
    const behind = this.#retries.remove(entry);
    this.#queue.unshift(behind);
    for (const { bytes } of behind) this.#queuedBytes += bytes.length;
  }

  async #pause(afterMs: number | undefined): Promise<void> {
    const ms = retryDelayMs(this.#failures, this.context.clock.random(), afterMs);
    await this.#waits.pause(ms, afterMs === undefined);
  }
}
