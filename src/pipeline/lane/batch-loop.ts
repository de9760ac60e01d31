import { InvariantError } from "../../assert.ts";
import type { LaneDelivery } from "../delivering/lane-delivery.ts";
import { FAULT_PAUSE_MS, TRANSFORM_BATCH_EVENTS } from "../limits.ts";
import type { LaneEvent } from "../model/lane-event.ts";
import type { RouteDecision } from "../model/routes.ts";
import {
  type TransformContext,
  type TransformResult,
  transform,
} from "../transforming/transform.ts";
import type { BatchScheduler } from "./batch-scheduler.ts";
import type { createDispatcher } from "./event-dispatcher.ts";
import type { LaneParts } from "./lane-context.ts";

type Dispatch = ReturnType<typeof createDispatcher>;

export interface BatchLoopParts
  extends Pick<LaneParts, "memory" | "labels" | "logger" | "work" | "fail"> {
  scheduler: BatchScheduler;
  dispatch: Dispatch;
  delivery: LaneDelivery;
  transform: TransformContext;
  /** Decides for each event, by the current connections, whether to send, discard or refuse it. */
  decide(events: readonly LaneEvent[]): RouteDecision[];
  /**
   * Whether the loop repeats a batched delivery that a crash or a normal stop interrupted. The
   * repetition must have the same events. The loop therefore takes no other events until it has
   * taken these.
   */
  isRecovering(): boolean;
  endRecovery(): void;
  isWaitingForSandbox(): boolean;
}

const dispatchedAll = Promise.resolve(true);

/**
 * Errors that were logged already. Lanes that share a read of a log get the same error object, and
 * only the first of these lanes logs it.
 */
const loggedErrors = new WeakSet<object>();

/**
 * Main loop of a lane, which delivers one destination's events: takes batches, runs user code over
 * them, and passes the outputs on to delivery. Two batches may overlap, so that the sandbox reads
 * one while it runs the other.
 */
export class BatchLoop {
  /** Whether the loop has found no events to take, and waits for a notification of `work`. */
  isWaiting = false;

  constructor(private readonly parts: BatchLoopParts) {}

  /**
   * Runs the loop. Resolves when the delivery to this destination was stopped and the last batch
   * has ended.
   */
  async run(): Promise<void> {
    const { memory, scheduler, delivery, work } = this.parts;
    let last = dispatchedAll;
    while (this.#isRunning) {
      // Two reasons to wait for the last batch first: a full lane gets room little by little, and
      // small batches cost more than the overlap gains; and events that must run again come first.
      if (memory.room.events < TRANSFORM_BATCH_EVENTS || scheduler.hasUnrun) {
        await last;
        last = dispatchedAll;
      }
      const notified = work.wait();
      const events = await this.#try(() => scheduler.take());
      if (events === undefined) continue;
      if (events.length === 0) {
        delivery.flush();
        if (delivery.batching && (memory.isFull || this.parts.isRecovering())) {
          await last;
          last = dispatchedAll;
          delivery.batching.flush();
        }
        const mayBeLeft = scheduler.lacksMemory || scheduler.hasUnrun;
        if (this.parts.isRecovering() && !mayBeLeft) this.parts.endRecovery();
        else if (this.#isRunning) {
          this.isWaiting = true;
          await notified;
          this.isWaiting = false;
        }
        continue;
      }
      if (!this.parts.isWaitingForSandbox()) delivery.expectMore();
      const before = last;
      last = this.#process(events, before);
      await before;
    }
    await last;
  }

  get #isRunning(): boolean {
    return this.parts.transform.isRunning();
  }

  /**
   * Runs user code over `events`, then passes the outputs on to delivery once `before` (the end of
   * the previous batch) has resolved. Resolves with false if user code must run again over some of
   * the events.
   */
  async #process(events: readonly LaneEvent[], before: Promise<boolean>): Promise<boolean> {
    const { scheduler, decide, work } = this.parts;
    let results: readonly (TransformResult | undefined)[] | undefined;
    let decisions: readonly RouteDecision[] = [];
    // The events are kept until they are dispatched, so that an error on the way does not lose
    // them.
    while (results === undefined && this.#isRunning) {
      results = await this.#try(() => {
        decisions = decide(events);
        const due = events.filter((_, index) => decisions[index]?.kind === "send");
        return transform(this.parts.transform, due);
      });
    }
    const isNext = await before;
    if (results === undefined || !this.#isRunning) return true;
    if (!isNext) {
      scheduler.putBackLast(events);
      return false;
    }
    const dispatched = this.#dispatch(events, decisions, results);
    if (dispatched === undefined) return true;
    scheduler.size.noteOutputBytes(dispatched.bytesPerEvent);
    scheduler.putBack(dispatched.rest);
    // The loop may have found nothing to take meanwhile, and be waiting.
    if (dispatched.rest.length > 0) work.notify();
    return dispatched.rest.length === 0;
  }

  /**
   * Passes the outputs of a batch on to delivery. After an error, stops the delivery to this
   * destination and returns undefined. The batch is then not repeated, because some of its events
   * may have been passed on already.
   */
  #dispatch(...batch: Parameters<Dispatch>): ReturnType<Dispatch> | undefined {
    try {
      return this.parts.dispatch(...batch);
    } catch (error) {
      this.parts.fail(error);
      return undefined;
    }
  }

  /**
   * Runs `step` and returns its result, or undefined after an error. A broken invariant (a bug)
   * stops the delivery to this destination. Any other error is logged, and a pause follows.
   */
  async #try<T>(step: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await step();
    } catch (error) {
      const { fail, logger, labels, transform } = this.parts;
      if (error instanceof InvariantError) fail(error);
      else {
        if (!wasLogged(error)) logger.error({ ...labels, err: error }, "batch failed; retrying");
        await transform.pause(FAULT_PAUSE_MS);
      }
      return undefined;
    }
  }
}

/** Whether this function was called with the same error object before. */
function wasLogged(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const was = loggedErrors.has(error);
  loggedErrors.add(error);
  return was;
}
