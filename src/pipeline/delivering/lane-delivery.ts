import { assert } from "../../assert.ts";
import type { Destination } from "../../catalog/model.ts";
import type { DeliveryResult, DestinationKind } from "../../destinations/destination.ts";
import type { Clock } from "../clock.ts";
import type { EventOutcome, LaneEvent, Output, UserQueue } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import type { RouteDecision, Routes } from "../model/routes.ts";
import { BatchingQueue, type BatchingQueueContext } from "./batching-queue.ts";
import { DeliveryQueue, type DeliveryQueueContext } from "./delivery-queue.ts";
import { DestinationClient, type DestinationClientParts } from "./destination-client.ts";

export interface LaneDeliveryParts extends DestinationClientParts {
  clock: Clock;
  retryWindowMs: number;
  /** Applies changes of the catalog. */
  refresh(): void;
  isRunning(): boolean;
  routes(): Routes;
  decide(event: LaneEvent): RouteDecision;
  /** Stores outcomes, and the intents of batched deliveries. */
  committer: {
    settle(outputs: readonly Output[], outcome: EventOutcome): void;
    writeIntent(intent: DeliveryIntent): Promise<void>;
    hasWrittenIntent(name: string): boolean;
    clearIntent(): void;
  };
  /** The batched delivery that was under way at a crash. */
  recovered: DeliveryIntent | undefined;
  /** Stops the lane after a broken invariant. */
  fail(error: unknown): void;
}

/** Delivers the outputs of one lane: the open destination, and the queues that share it. */
export class LaneDelivery {
  readonly #parts: LaneDeliveryParts;
  readonly #client: DestinationClient;
  readonly #queues: DeliveryQueue[];
  /** Replaces the queues when the kind batches. */
  readonly #batching: BatchingQueue | undefined;
  /** The queue whose request is being filled. */
  #filled: DeliveryQueue;
  /** Queues of the users who have unsettled outputs. */
  readonly #userQueues = new Map<string, UserQueue>();
  /** Whether more outputs come soon, for which requests may wait until they are full. */
  #expectsMore = false;
  /** Recoveries of the destination that were handled. */
  #recoveries = 0;
  /** Queues to resume, one after each answer, because the destination takes events again. */
  #resuming: DeliveryQueue[] = [];

  constructor(parts: LaneDeliveryParts, kind: DestinationKind, destination: Destination) {
    this.#parts = parts;
    this.#client = new DestinationClient(kind, destination, parts);
    const context = this.#createContext();
    const count = kind.concurrency(destination.config);
    this.#queues = Array.from({ length: count }, () => new DeliveryQueue(context));
    this.#filled = this.#queues[0]!;
    if (kind.batchLimits === undefined) return;
    this.#batching = new BatchingQueue(this.#createBatchingContext(context), parts.recovered?.name);
  }

  /**
   * Queues outputs of a user. While some outputs of the user have not settled, further ones go
   * through the same queue, which keeps their order; otherwise through the queue that fills
   * requests
   * best.
   */
  push(user: string, outputs: readonly Output[]): void {
    const known = this.#userQueues.get(user);
    const queue = known ?? { user, queue: this.#batching ?? this.#choose(), openOutputs: 0 };
    this.#userQueues.set(user, queue);
    queue.openOutputs += outputs.length;
    for (const output of outputs) {
      output.userQueue = queue;
      queue.queue.push(output);
    }
  }

  /** See `DestinationClient.failure`. */
  get failure() {
    return this.#client.failure;
  }

  /** See `DestinationClient.refusal`. */
  get refusal() {
    return this.#client.refusal;
  }

  /** Lets requests wait for more outputs, which come soon. */
  expectMore(): void {
    this.#expectsMore = true;
  }

  /** Sends the queued outputs, since no more come for now. */
  flush(): void {
    this.#expectsMore = false;
    for (const queue of this.#queues) queue.flush();
  }

  get isBatching(): boolean {
    return this.#batching !== undefined;
  }

  /** Sends the gathered batch: there is no room for more, or other lanes need the memory. */
  flushBatch(): void {
    this.#batching?.flush();
  }

  /** Ends all waiting: settings changed, or the lane stops. */
  interruptWaits(): void {
    for (const queue of this.#queues) queue.interruptWait();
    this.#batching?.interruptWait();
  }

  update(destination: Destination): void {
    this.#client.update(destination);
  }

  /** Cuts off the attempts under way. */
  abort(): void {
    this.#client.abort();
  }

  /** Resolves when attempts under way have ended. The lane must have stopped. */
  async close(): Promise<void> {
    this.interruptWaits();
    await Promise.all(this.#queues.map((queue) => queue.ended()));
    await this.#batching?.ended();
    await this.#client.close();
  }

  /**
   * Chooses the queue for a user without open outputs. Requests are filled one after the other: if
   * each user had a fixed queue by a hash, each queue would send only a few events at a time.
   * Queues
   * that wait for their next attempt are avoided.
   */
  #choose(): DeliveryQueue {
    let best = this.#filled;
    if (best.hasRoom && !best.isTrying) return best;
    for (const queue of this.#queues) if (queue.load < best.load) best = queue;
    // No queue is idle: the request that is being filled is completed before another one is begun.
    if (best.load > 0 && this.#filled.hasRoom) return this.#filled;
    this.#filled = best;
    return best;
  }

  /**
   * Resumes one waiting queue for each answer of a receiver that was unreachable, so that the
   * queues
   * come back quickly and not all at once.
   */
  #resume(): void {
    if (this.#recoveries !== this.#client.recoveries) {
      this.#recoveries = this.#client.recoveries;
      this.#resuming = [...this.#queues];
    }
    for (let next = this.#resuming.pop(); next !== undefined; next = this.#resuming.pop()) {
      if (next.resume()) return;
    }
  }

  #settle(outputs: readonly Output[], outcome: EventOutcome): void {
    for (const { userQueue } of outputs) {
      if (userQueue === undefined) continue;
      userQueue.openOutputs -= 1;
      assert(userQueue.openOutputs >= 0, "A user settles no more outputs than were queued");
      if (userQueue.openOutputs === 0) this.#userQueues.delete(userQueue.user);
    }
    this.#parts.committer.settle(outputs, outcome);
  }

  async #deliver(outputs: readonly Output[], name?: string): Promise<DeliveryResult> {
    const result = await this.#client.deliver(outputs, name);
    const refused = result.kind === "delivered" ? (result.refused?.keys() ?? []) : [];
    for (const index of refused) {
      assert(index >= 0 && index < outputs.length, "A destination refuses events of the delivery");
    }
    return result;
  }

  #createContext(): DeliveryQueueContext {
    const { clock, retryWindowMs, isRunning, refresh, routes, decide, fail } = this.#parts;
    return {
      retryWindowMs,
      isRunning,
      refresh,
      routes,
      decide,
      fail,
      settle: (outputs, outcome) => this.#settle(outputs, outcome),
      elapsed: () => clock.elapsed(),
      age: (at) => clock.age(at),
      random: () => clock.random(),
      batchSize: () => this.#client.batchSize,
      batchKey: (output) => this.#client.batchKey(output),
      expectsMore: () => this.#expectsMore,
      deliver: async (outputs) => {
        const result = await this.#deliver(outputs);
        if (result.kind !== "retry") this.#resume();
        return result;
      },
      sleep: (ms, until) => clock.sleep(ms, until),
      attemptCounts: () => this.#client.attemptCounts,
      failure: () => this.#client.failure,
    };
  }

  #createBatchingContext(context: DeliveryQueueContext): BatchingQueueContext {
    const { clock, committer } = this.#parts;
    return {
      ...context,
      writeIntent: (intent) => committer.writeIntent(intent),
      hasWrittenIntent: (name) => committer.hasWrittenIntent(name),
      clearIntent: () => committer.clearIntent(),
      now: () => clock.now(),
      batchLimits: () => this.#client.batchLimits,
      deliver: (outputs, name) => this.#deliver(outputs, name || undefined),
    };
  }
}
