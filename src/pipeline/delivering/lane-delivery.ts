import { assert } from "../../assert.ts";
import type { Destination } from "../../catalog/model.ts";
import type { DestinationKind } from "../../destinations/destination.ts";
import type { Clock } from "../clock.ts";
import type { AttemptResult } from "../model/attempt.ts";
import { type EventOutcome, type Output, zeroOutputCounts } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import { BatchingQueue, type BatchingQueueContext } from "./batching-queue.ts";
import { DeliveryQueue, type DeliveryQueueContext } from "./delivery-queue.ts";
import { DestinationClient, type DestinationClientParts } from "./destination-client.ts";
import { UserGroups } from "./user-groups.ts";

/** Members of `BatchingQueueContext` that the lane provides. `LaneDelivery` provides the others. */
type LaneMembers = "retryWindowMs" | "refresh" | "isRunning" | "routes" | "decide" | "fail";

interface LaneDeliveryParts
  extends DestinationClientParts,
    Pick<BatchingQueueContext, LaneMembers> {
  clock: Clock;
  /** Stores outcomes of events, and intents (name and event range) of batched deliveries. */
  committer: BatchingQueueContext["committer"] & {
    settle(outputs: readonly Output[], outcome: EventOutcome): void;
    noteOutage(): void;
  };
  /**
   * Intent (name and event range) of the batched delivery that a crash or a normal stop
   * interrupted; undefined if there is none.
   */
  recovered: DeliveryIntent | undefined;
}

/**
 * Delivers the events of one destination through several queues, one for each concurrent request.
 * The queues share one open destination.
 */
export class LaneDelivery {
  readonly #parts: LaneDeliveryParts;
  /** Keeps the destination open, and knows whether the destination works. */
  readonly client: DestinationClient;
  readonly #queues: DeliveryQueue[];
  /**
   * The queue for a kind of destination that gathers events into large deliveries; undefined for
   * other kinds, which use `#queues`.
   */
  readonly batching: BatchingQueue | undefined;
  /** The queue whose next request is being filled with new events. */
  #filled: DeliveryQueue;
  /** Assigns users' events to queues. Undefined before the first event, and with a single queue. */
  #users: UserGroups | undefined;
  /** Whether requests that are not full wait for more events, which will follow soon. */
  #expectsMore = false;
  /**
   * Queues still to be resumed after an outage of the destination. Each answer of the receiver
   * removes queues until one of them ends its wait, so that not all queues resume at once.
   */
  #resuming: DeliveryQueue[] = [];

  constructor(parts: LaneDeliveryParts, kind: DestinationKind, destination: Destination) {
    this.#parts = parts;
    this.client = new DestinationClient(kind, destination, parts, () => {
      this.#resuming = [...this.#queues];
    });
    const context: DeliveryQueueContext & LaneDeliveryParts = {
      ...parts,
      settle: (outputs, outcome) => this.#settle(outputs, outcome),
      batchSize: () => this.client.batchSize,
      batchKey: (output) => this.client.batchKey(output),
      expectsMore: () => this.#expectsMore,
      deliver: async (outputs) => {
        const result = await this.#deliver(outputs);
        if (result.kind !== "retry") this.#resume();
        return result;
      },
      outputCounts: zeroOutputCounts(),
      failure: () => this.client.failure,
    };
    this.#queues = Array.from({ length: kind.concurrency }, () => new DeliveryQueue(context));
    this.#filled = this.#queues[0]!;
    if (kind.batchLimits === undefined) return;
    const batchingContext: BatchingQueueContext = {
      ...context,
      batchLimits: () => this.client.batchLimits,
      deliver: (outputs, name) => this.#deliver(outputs, name || undefined),
    };
    this.batching = new BatchingQueue(batchingContext, parts.recovered?.name);
  }

  /**
   * Puts events of one user into a queue. If earlier events of the user's group (see `UserGroups`)
   * have no final outcome yet, uses their queue, so that the user's events stay in order.
   */
  push(user: string, outputs: readonly Output[]): void {
    const only = this.batching ?? (this.#queues.length === 1 ? this.#filled : undefined);
    if (only !== undefined) {
      for (const output of outputs) only.push(output);
      return;
    }
    this.#users ??= new UserGroups();
    const group = this.#users.groupOf(user);
    const index = this.#users.queueOf(group) ?? this.#queues.indexOf(this.#choose());
    this.#users.add(group, index, outputs.length);
    for (const output of outputs) {
      output.userGroup = group;
      this.#queues[index]!.push(output);
    }
  }

  /**
   * Makes requests that are not full wait a short time for more events, until `flush` is called.
   */
  expectMore(): void {
    this.#expectsMore = true;
  }

  /**
   * Sends the queued events without waiting for more. Does not send the events that the queue
   * `batching` gathers for a large delivery.
   */
  flush(): void {
    this.#expectsMore = false;
    for (const queue of this.#queues) queue.flush();
  }

  /** Ends all waits of the queues early, because settings changed or the delivery stops. */
  interruptWaits(): void {
    for (const queue of this.#queues) queue.interruptWait();
    this.batching?.interruptWait();
  }

  /**
   * Ends all waits, and resolves when all deliveries have ended. Call it only after the lane was
   * stopped.
   */
  async close(): Promise<void> {
    this.interruptWaits();
    await Promise.all(this.#queues.map((queue) => queue.ended()));
    await this.batching?.ended();
    await this.client.close();
  }

  /**
   * Returns the queue for new events of a user group that has no events in any queue. Prefers the
   * queue whose next request is being filled, so that requests become full. Avoids queues whose
   * attempts fail.
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
   * After an outage, resumes one queue that waits for a retry. Called at each answer of the
   * receiver, so that the queues resume quickly, but not all at once.
   */
  #resume(): void {
    for (let next = this.#resuming.pop(); next !== undefined; next = this.#resuming.pop()) {
      if (next.resume()) return;
    }
  }

  #settle(outputs: readonly Output[], outcome: EventOutcome): void {
    const users = this.#users;
    if (users !== undefined) for (const { userGroup } of outputs) users.settle(userGroup);
    this.#parts.committer.settle(outputs, outcome);
  }

  async #deliver(outputs: readonly Output[], name?: string): Promise<AttemptResult> {
    const result = await this.client.deliver(outputs, name);
    if (result.kind === "retry") this.#parts.committer.noteOutage();
    const refused = result.kind === "delivered" ? (result.refused?.keys() ?? []) : [];
    for (const index of refused) {
      assert(index >= 0 && index < outputs.length, "A destination refuses events of the delivery");
    }
    return result;
  }
}
