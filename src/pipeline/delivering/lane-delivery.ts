import type { Destination } from "../../catalog/model.ts";
import type { DestinationKind } from "../../destinations/destination.ts";
import type { Clock } from "../clock.ts";
import type { EventOutcome, Output, UserQueue } from "../model/lane-event.ts";
import type { DeliveryIntent } from "../model/lane-record.ts";
import type { RouteDecision, Routes } from "../model/routes.ts";
import { DeliveryQueue, type DeliveryQueueHost } from "./delivery-queue.ts";
import { DestinationClient, type DestinationClientParts } from "./destination-client.ts";
import { type GatheringHost, GatheringQueue } from "./gathering-queue.ts";

export interface LaneDeliveryParts extends DestinationClientParts {
  clock: Clock;
  retryWindowMs: number;
  /** Takes up what changed in the catalog. */
  refresh(): void;
  running(): boolean;
  routes(): Routes;
  standing(output: Output): RouteDecision;
  settle(outputs: readonly Output[], ending: EventOutcome): void;
  /** The gathered delivery that was under way at a crash. */
  repeated: DeliveryIntent | undefined;
  seal(sealed: DeliveryIntent): Promise<void>;
  unseal(): void;
}

/** The delivery of one lane: the open destination, and the queues that share it. */
export class LaneDelivery {
  readonly #parts: LaneDeliveryParts;
  readonly #receiver: DestinationClient;
  readonly #queues: DeliveryQueue[];
  /** Instead of the queues, when the kind gathers. */
  readonly #gathering: GatheringQueue | undefined;
  /** The queue whose request is being filled. */
  #filled: DeliveryQueue;
  /** Users that have outputs which have not settled. */
  readonly #seats = new Map<string, UserQueue>();
  /**
   * Whether more outputs are on their way here, for which requests may wait until they are full.
   */
  #filling = false;
  /** Recoveries of the receiver up to which queues were told. */
  #recoveries = 0;
  /** Queues to wake, one at each answer, because the destination takes events again. */
  #resuming: DeliveryQueue[] = [];

  constructor(parts: LaneDeliveryParts, kind: DestinationKind, destination: Destination) {
    this.#parts = parts;
    this.#receiver = new DestinationClient(kind, destination, parts);
    const host = this.#host();
    const count = kind.concurrency(destination.config);
    this.#queues = Array.from({ length: count }, () => new DeliveryQueue(host));
    this.#filled = this.#queues[0]!;
    if (kind.batchLimits === undefined) return;
    this.#gathering = new GatheringQueue(this.#gatheringHost(host), parts.repeated?.name);
  }

  /**
   * While some of a user's outputs have not settled, further ones go through the same queue, which
   * keeps their order; otherwise through the queue that fills requests best.
   */
  push(user: string, outputs: readonly Output[]): void {
    const known = this.#seats.get(user);
    const seat = known ?? { user, queue: this.#gathering ?? this.#choose(), open: 0 };
    this.#seats.set(user, seat);
    seat.open += outputs.length;
    for (const output of outputs) {
      output.seat = seat;
      seat.queue.push(output);
    }
  }

  /** Since when the receiver has not answered, and why; see `Receiver.failure`. */
  get failure() {
    return this.#receiver.failure;
  }

  /** Since when the receiver refuses everything, and why; see `Receiver.refusal`. */
  get refusal() {
    return this.#receiver.refusal;
  }

  /** More comes soon. */
  fill(): void {
    this.#filling = true;
  }

  /** No more outputs come for now: what is here is sent. */
  flush(): void {
    this.#filling = false;
    for (const queue of this.#queues) queue.flush();
  }

  get gathers(): boolean {
    return this.#gathering !== undefined;
  }

  /** What is gathered goes: there is no room for more, or others need it. */
  press(): void {
    this.#gathering?.press();
  }

  /**
   * The queue for a user without open outputs. Requests are filled one after the other: if each
   * user had a fixed queue by a hash, each queue would send only a few events at a time. Queues
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

  /** Ends all waiting: settings changed, or the lane ends. */
  hurry(): void {
    for (const queue of this.#queues) queue.hurry();
    this.#gathering?.hurry();
  }

  update(destination: Destination): void {
    this.#receiver.update(destination);
  }

  /** Cuts off the attempts under way. */
  abort(): void {
    this.#receiver.abort();
  }

  /** Resolves when attempts under way have ended. The lane must have stopped. */
  async close(): Promise<void> {
    this.hurry();
    await Promise.all(this.#queues.map((queue) => queue.ended()));
    await this.#gathering?.ended();
    await this.#receiver.close();
  }

  /**
   * When the receiver answers after a time in which nothing got through, each answer wakes one
   * waiting queue, so that the queues come back quickly and not all at once.
   */
  #resume(): void {
    if (this.#recoveries !== this.#receiver.recoveries) {
      this.#recoveries = this.#receiver.recoveries;
      this.#resuming = [...this.#queues];
    }
    for (let next = this.#resuming.pop(); next !== undefined; next = this.#resuming.pop()) {
      if (next.resume()) return;
    }
  }

  #leave(outputs: readonly Output[]): void {
    for (const { seat } of outputs) {
      if (seat === undefined) continue;
      seat.open -= 1;
      if (seat.open === 0) this.#seats.delete(seat.user);
    }
  }

  #host(): DeliveryQueueHost {
    const { clock, retryWindowMs, running, refresh, routes, standing, settle } = this.#parts;
    return {
      ...{ retryWindowMs, running, refresh, routes, standing },
      settle: (outputs, ending) => {
        this.#leave(outputs);
        settle(outputs, ending);
      },
      elapsed: () => clock.elapsed(),
      age: (at) => clock.age(at),
      random: () => clock.random(),
      batchSize: () => this.#receiver.batchSize,
      shareKey: (output) => this.#receiver.shareKey(output),
      filling: () => this.#filling,
      deliver: async (outputs) => {
        const verdict = await this.#receiver.deliver(outputs);
        if (verdict.kind !== "retry") this.#resume();
        return verdict;
      },
      sleep: (ms, until) => clock.sleep(ms, until),
      tally: () => this.#receiver.tally,
      failure: () => this.#receiver.failure,
    };
  }

  #gatheringHost(host: DeliveryQueueHost): GatheringHost {
    const { clock, seal, unseal } = this.#parts;
    return {
      ...host,
      ...{ seal, unseal },
      now: () => clock.now(),
      gathering: () => this.#receiver.gathering,
      deliver: (outputs, name) => this.#receiver.deliver(outputs, name || undefined),
    };
  }
}
