import { assert } from "../../assert.ts";
import type { LiveProgram } from "../../catalog/live.ts";
import type { LaneDelivery } from "../delivering/lane-delivery.ts";
import type { LaneBudget } from "../memory-budget.ts";
import {
  createOutput,
  type EventOutcome,
  type LaneEvent,
  type Output,
  outputBytes,
} from "../model/lane-event.ts";
import type { RouteDecision } from "../model/routes.ts";
import type { TransformResult } from "../transforming/transform.ts";
import type { LaneCommitter } from "./lane-committer.ts";

interface EventDispatcherParts {
  memory: LaneBudget;
  delivery: Pick<LaneDelivery, "push">;
  committer: Pick<LaneCommitter, "settle">;
}

interface DispatchResult {
  /**
   * Events over which user code must run again: the first event whose outputs did not fit in
   * memory, or for which the code returned no result, and all later events of the batch.
   */
  rest: readonly LaneEvent[];
  /** Average size in bytes of one event's outputs in this batch; 0 when there were no outputs. */
  bytesPerEvent: number;
}

/**
 * Creates the function that passes the outputs of a batch on to delivery, in the order of the
 * events. The function stops at the first event with the decision `send` that has no result, or
 * whose outputs do not fit in memory. Its parameters include:
 * - `decisions`: the route decision about each event.
 * - `results`: results of user code, in order, for the events with the decision `send` only.
 */
export function createDispatcher({ memory, delivery, committer }: EventDispatcherParts) {
  function push(event: LaneEvent, outputs: readonly Output[], bytes: number): boolean {
    assert(outputs.length > 0, "An event that is dispatched has outputs");
    if (!memory.dispatch(event, bytes)) return false;
    event.openOutputs = outputs.length;
    delivery.push(event.input.event.user, outputs);
    return true;
  }

  /** Records the final outcome of an event that has no outputs. */
  function settle(event: LaneEvent, outcome: EventOutcome, live?: LiveProgram): void {
    memory.dispatchEmpty();
    event.openOutputs = 1;
    committer.settle([createOutput(event, event.input.event.json, live)], outcome);
  }

  return (
    events: readonly LaneEvent[],
    decisions: readonly RouteDecision[],
    results: readonly (TransformResult | undefined)[],
  ): DispatchResult => {
    assert(decisions.length === events.length, "Each event of a batch has one route decision");
    assert(results.length <= events.length, "A batch has no more results than events");
    let bytes = 0;
    let sent = 0;
    for (let index = 0; index < events.length; index++) {
      const event = events[index]!;
      const decision = decisions[index]!;
      const result = decision.kind === "send" ? results[sent++] : undefined;
      if (decision.kind === "discard") settle(event, { kind: "discarded" });
      else if (decision.kind === "refused") {
        settle(event, { kind: "dead-letter", stage: "deliver", reason: decision.reason });
      } else if (result === undefined) {
        return { rest: events.slice(index), bytesPerEvent: bytes / Math.max(1, index) };
      } else if ("outputs" in result) {
        const added = outputBytes(result.outputs);
        if (!push(event, result.outputs, added)) {
          return { rest: events.slice(index), bytesPerEvent: (bytes + added) / (index + 1) };
        }
        bytes += added;
      } else settle(event, result.outcome, result.live);
    }
    return { rest: [], bytesPerEvent: bytes / Math.max(1, events.length) };
  };
}
