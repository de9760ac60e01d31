import type { Destination } from "../catalog/model.ts";
import type { DestinationKind } from "../destinations/destination.ts";
import type { Clock } from "./clock.ts";
import type { Ending, Output } from "./item.ts";
import { Outlet, type OutletParts } from "./outlet.ts";
import { Partition, type PartitionHost } from "./partition.ts";
import type { Routes, Standing } from "./router.ts";

export interface DeliveryParts extends OutletParts {
  clock: Clock;
  retryWindowMs: number;
  /** Takes up what changed in the catalog. */
  refresh(): void;
  running(): boolean;
  routes(): Routes;
  standing(output: Output): Standing;
  settle(outputs: readonly Output[], ending: Ending): void;
}

/** A lane's open destination, and the partitions that share it. */
export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #outlet: Outlet;
  readonly #partitions: Partition[];
  /** More is on its way here: requests may wait until they are full. */
  #filling = false;
  /** Recoveries of the outlet that partitions were told of. */
  #recoveries = 0;
  /** Partitions that may wait although the destination takes events again. */
  #resuming: Partition[] = [];

  constructor(parts: DeliveryParts, kind: DestinationKind, destination: Destination) {
    this.#parts = parts;
    this.#outlet = new Outlet(kind, destination, parts);
    const host = this.#host();
    const count = kind.concurrency(destination.config);
    this.#partitions = Array.from({ length: count }, () => new Partition(host));
  }

  /** A user's outputs go through the same partition, in their order. */
  push(user: string, outputs: readonly Output[]): void {
    const partition = this.#partitions[Bun.hash.crc32(user) % this.#partitions.length]!;
    for (const output of outputs) partition.push(output);
  }

  /** More comes soon. */
  fill(): void {
    this.#filling = true;
  }

  /** Nothing more comes for now: what is here goes. */
  flush(): void {
    this.#filling = false;
    for (const partition of this.#partitions) partition.flush();
  }

  /** Ends all waiting: settings changed, or the lane ends. */
  hurry(): void {
    for (const partition of this.#partitions) partition.hurry();
  }

  update(destination: Destination): void {
    this.#outlet.update(destination);
  }

  /** Cuts the attempts under way. */
  abort(): void {
    this.#outlet.abort();
  }

  /** Resolves when attempts under way have ended; the lane runs no more. */
  async close(): Promise<void> {
    this.hurry();
    await Promise.all(this.#partitions.map((partition) => partition.ended()));
    await this.#outlet.close();
  }

  /**
   * After a time in which nothing got through each answer wakes one of the partitions that wait,
   * so that they come back quickly, and not all at once.
   */
  #resume(): void {
    if (this.#recoveries !== this.#outlet.recoveries) {
      this.#recoveries = this.#outlet.recoveries;
      this.#resuming = [...this.#partitions];
    }
    for (let next = this.#resuming.pop(); next !== undefined; next = this.#resuming.pop()) {
      if (next.resume()) return;
    }
  }

  #host(): PartitionHost {
    const { clock, retryWindowMs, running, refresh, routes, standing, settle } = this.#parts;
    return {
      ...{ retryWindowMs, running, refresh, routes, standing, settle },
      elapsed: () => clock.elapsed(),
      age: (at) => clock.age(at),
      random: () => clock.random(),
      batchSize: () => this.#outlet.batchSize,
      filling: () => this.#filling,
      deliver: async (outputs) => {
        const verdict = await this.#outlet.deliver(outputs.map(({ bytes }) => bytes));
        if (verdict.kind !== "retry") this.#resume();
        return verdict;
      },
      sleep: (ms, until) => clock.sleep(ms, until),
      tally: () => this.#outlet.tally,
      failure: () => this.#outlet.failure,
    };
  }
}
