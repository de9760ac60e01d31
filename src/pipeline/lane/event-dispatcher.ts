import type { LiveProgram } from "../../catalog/catalog.ts";
import type { LaneDelivery } from "../delivering/lane-delivery.ts";
import type { InFlight } from "../in-flight.ts";
import {
  createOutput,
  type EventOutcome,
  heldBytes,
  type LaneEvent,
  type Output,
} from "../model/lane-event.ts";
import type { RouteDecision } from "../model/routes.ts";
import type { TransformResult } from "../transforming/transform.ts";
import type { BatchScheduler } from "./batch-scheduler.ts";
import type { LaneCommitter } from "./lane-committer.ts";

export interface EventDispatcherParts {
  inFlight: InFlight;
  delivery: LaneDelivery;
  settling: LaneCommitter;
  next: BatchScheduler;
}

/** The step from user code to delivery: outputs go to the queues, and items without any to their end. */
export class EventDispatcher {
  readonly #parts: EventDispatcherParts;

  constructor(parts: EventDispatcherParts) {
    this.#parts = parts;
  }

  /**
   * Hands items on in order: their outputs to the queues, or the item to its end. Items that must
   * not be sent have not met any code. Returns the items that there is no room for, or that code
   * has not met yet because it made too much of those before.
   */
  handOn(
    items: readonly LaneEvent[],
    standings: ReadonlyMap<LaneEvent, RouteDecision>,
    made: ReadonlyMap<LaneEvent, TransformResult>,
  ): readonly LaneEvent[] {
    const { next } = this.#parts;
    let bytes = 0;
    for (const [index, item] of items.entries()) {
      const at = standings.get(item)!;
      const result = made.get(item);
      if (at.kind === "send" && result === undefined) {
        next.noteMade(bytes / Math.max(1, index));
        return items.slice(index);
      }
      if (at.kind === "discard") this.#settleWhole(item, { kind: "discarded" });
      else if (at.kind === "refused") {
        this.#settleWhole(item, { kind: "dead-letter", stage: "deliver", reason: at.reason });
      } else if (result !== undefined && "outputs" in result) {
        const size = heldBytes(result.outputs);
        if (!this.#emit(item, result.outputs, size)) {
          next.noteMade((bytes + size) / (index + 1));
          return items.slice(index);
        }
        bytes += size;
      } else if (result !== undefined) this.#settleWhole(item, result.ending, result.live);
    }
    next.noteMade(bytes / items.length);
    return [];
  }

  #emit(item: LaneEvent, outputs: readonly Output[], bytes: number): boolean {
    const { inFlight, delivery } = this.#parts;
    if (!inFlight.emit(item, bytes)) return false;
    item.open = outputs.length;
    delivery.push(item.input.event.user, outputs);
    return true;
  }

  /** Settles an item that has no output. */
  #settleWhole(item: LaneEvent, ending: EventOutcome, live?: LiveProgram): void {
    const { inFlight, settling } = this.#parts;
    inFlight.begin();
    item.open = 1;
    settling.settle([createOutput(item, item.input.event.json, live)], ending);
  }
}
