import { Fifo } from "../../concurrency/fifo.ts";
import type { BatchLimits, DeliveryResult } from "../../destinations/destination.ts";
import { Notifier } from "../clock.ts";
import type { Output } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import { createDeliveryIntent } from "./delivery-intent.ts";
import { DeliveryPolicy, type DeliveryPolicyContext } from "./delivery-policy.ts";
import { retryDelayMs } from "./retry.ts";

/** What a queue that gathers asks of its lane. */
export interface GatheringHost extends DeliveryPolicyContext {
  batchSize(): number;
  gathering(): BatchLimits;
  /** Milliseconds since the epoch. */
  now(): number;
  random(): number;
  /** False once the lane stops: what has not settled stays pending. */
  running(): boolean;
  /** Takes up what changed in the catalog: called before each attempt. */
  refresh(): void;
  /** Resolves once a crash would not forget that this delivery may be under way. */
  seal(sealed: DeliveryIntent): Promise<void>;
  /** The delivery has ended: forgotten together with its events. */
  unseal(): void;
  deliver(outputs: readonly Output[], name: string): Promise<DeliveryResult>;
  sleep(ms: number, until: Notifier): Promise<void>;
}

/** While a delivery is gathered again, the queue looks so often whether its lane still runs. */
const REPEATED_LOOK_MS = 1_000;

/**
 * Outputs that wait for each other until they make a large delivery. One delivery goes at a time,
 * and the next not before the first has ended: so a crash leaves one at most that may have come
 * through unseen, and that one is repeated under its name, with its events.
 */
export class GatheringQueue {
  readonly #host: GatheringHost;
  readonly #endings: DeliveryPolicy;
  readonly #queue = new Fifo<Output>();
  #queuedBytes = 0;
  /** When the first output that waits began to, or a little later. */
  #since = 0;
  /** So many outputs go without waiting for more. */
  #pressed = 0;
  /** The name of a delivery before a crash: what comes first is that, whatever its size. */
  #repeated: string | undefined;
  #working: Promise<void> | undefined;
  readonly #wake = new Notifier();
  #failures = 0;

  constructor(host: GatheringHost, repeated: string | undefined) {
    this.#host = host;
    this.#endings = new DeliveryPolicy(host);
    this.#repeated = repeated;
  }

  push(output: Output): void {
    if (this.#queue.length === 0) this.#since = this.#host.elapsed();
    this.#queue.push(output);
    this.#queuedBytes += output.bytes.length;
    this.#working ??= Promise.resolve().then(() => this.#work());
    if (this.#isFull()) this.#wake.notify();
  }

  /** What is here goes: there is no room for more, or what is repeated is complete. */
  press(): void {
    if (this.#repeated !== undefined && this.#queue.length === 0) {
      // All of it ended on the way here this time.
      this.#repeated = undefined;
      this.#host.unseal();
    }
    this.#pressed = this.#queue.length;
    this.#wake.notify();
  }

  /** Settings changed, or the lane ends. */
  hurry(): void {
    this.#wake.notify();
  }

  /** Resolves when nothing is under way: soon after the lane stopped. */
  async ended(): Promise<void> {
    await this.#working;
  }

  async #work(): Promise<void> {
    while (this.#queue.length > 0 && this.#host.running()) {
      await this.#gather();
      if (!this.#host.running()) break;
      const outputs = this.#take();
      const name = this.#repeated ?? (await this.#seal(outputs));
      this.#repeated = undefined;
      if (name !== undefined) await this.#settleAll(outputs, name);
    }
    this.#working = undefined;
  }

  async #gather(): Promise<void> {
    while (this.#host.running() && this.#pressed === 0 && !this.#isFull()) {
      const { ageMs } = this.#host.gathering();
      const left = this.#since + ageMs - this.#host.elapsed();
      if (this.#repeated === undefined && left <= 0) return;
      const ms = this.#repeated === undefined ? left : REPEATED_LOOK_MS;
      await this.#host.sleep(ms, this.#wake);
    }
  }

  #isFull(): boolean {
    if (this.#repeated !== undefined) return false;
    const { batchSize, gathering } = this.#host;
    return this.#queue.length >= batchSize() || this.#queuedBytes >= gathering().bytes;
  }

  /** The next delivery. All that one event became stays together: it is pending, or it is not. */
  #take(): Output[] {
    const isRepeated = this.#repeated !== undefined;
    const count = isRepeated ? this.#pressed : this.#host.batchSize();
    const bytesMax = isRepeated ? Number.POSITIVE_INFINITY : this.#host.gathering().bytes;
    const outputs: Output[] = [];
    let bytes = 0;
    while (this.#queue.length > 0) {
      const { item, bytes: text } = this.#queue.first!;
      const isOver = outputs.length >= count || bytes + text.length > bytesMax;
      if (isOver && outputs.length > 0 && outputs.at(-1)!.item !== item) break;
      bytes += text.length;
      outputs.push(this.#queue.shift()!);
    }
    this.#queuedBytes -= bytes;
    this.#pressed = Math.max(0, this.#pressed - outputs.length);
    this.#since = this.#host.elapsed();
    return outputs;
  }

  /**
   * The name under which these may go; undefined when the lane stops before that is known. What goes
   * at once has an empty one: nothing is remembered of it.
   */
  async #seal(outputs: readonly Output[]): Promise<string | undefined> {
    if (this.#host.gathering().ageMs === 0) return "";
    const sealed = createDeliveryIntent(outputs, this.#host.now());
    const kept = this.#host.seal(sealed).then(() => true);
    while (this.#host.running()) {
      if (await this.#wake.unlessNotified(kept)) return sealed.name;
    }
    return undefined;
  }

  /** Tries until every output has settled, or the lane stops. All go together each time. */
  async #settleAll(outputs: Output[], name: string): Promise<void> {
    let rest = outputs;
    while (this.#host.running()) {
      this.#host.refresh();
      rest = this.#endings.due(rest);
      if (rest.length === 0) return this.#host.unseal();
      const verdict = await this.#host.deliver(rest, name);
      for (const output of rest) output.attempts += 1;
      this.#failures = verdict.kind === "retry" ? this.#failures + 1 : 0;
      if (verdict.kind === "delivered") this.#endings.delivered(rest, verdict.refused);
      else if (verdict.kind === "rejected") this.#endings.giveUp(rest, verdict.reason);
      else {
        rest = this.#endings.failed(rest, verdict.reason);
        if (rest.length > 0) await this.#pause(verdict.afterMs);
        continue;
      }
      return this.#host.unseal();
    }
  }

  async #pause(afterMs: number | undefined): Promise<void> {
    const ms = retryDelayMs(this.#failures, this.#host.random(), afterMs);
    await this.#host.sleep(ms, this.#wake);
  }
}
