import { assert, InvariantError } from "../../assert.ts";
import type { Live, LiveProgram } from "../../catalog/live.ts";
import type { Destination } from "../../catalog/model.ts";
import { isChosen } from "../../event/destination-choice.ts";
import { filterOf } from "../../event/event-filter.ts";
import type { Logger } from "../../observe/log.ts";
import { programOf } from "../../publishing/guest-program.ts";
import type { Sandbox } from "../../sandbox/guest-sandbox.ts";
import type { LogLine, Program, ProgramOutcome } from "../../sandbox/program.ts";
import { SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { TRANSFORM_BATCH_EVENTS_MAX } from "../../settings/limits.ts";
import type { Clock } from "../clock.ts";
import { retryDelayMs } from "../delivering/retry.ts";
import { TRANSFORM_BATCH_EVENTS } from "../limits.ts";
import { eventKey } from "../model/input-event.ts";
import {
  createOutput,
  type EventOutcome,
  type LaneEvent,
  type Output,
} from "../model/lane-event.ts";
import type { CodeLogs } from "../monitoring/code-logs.ts";
import { credentialMask } from "../monitoring/credential-mask.ts";
import { createMetadata } from "./metadata.ts";

export interface TransformContext {
  live: Live;
  sandbox: Sandbox;
  codeLogs: CodeLogs;
  logger: Logger;
  destination(): Destination;
  isRunning(): boolean;
  clock: Pick<Clock, "random">;
  /** Returns the event's JSON without the members that only user code may set. */
  removeOverrides(event: Uint8Array): Uint8Array;
  /** Resolves after `ms` milliseconds, or earlier when settings of the destination change. */
  pause(ms: number): Promise<void>;
  /**
   * Resolves with the result of `work`. Resolves with undefined as soon as the delivery to this
   * destination is stopped, so that a stop need not wait for a sandbox process.
   */
  unlessStopped<T>(work: Promise<T>): Promise<T | undefined>;
  /** Records whether events wait for a sandbox process, which runs user code. */
  setWaiting(isWaiting: boolean): void;
  /**
   * Records a run of user code over a batch, which took `seconds` seconds. `outcomes` may be
   * shorter than the batch; the events at the end of the batch, which have no outcome, will run
   * again.
   */
  onRun(live: LiveProgram, outcomes: readonly ProgramOutcome[], seconds: number): void;
}

/**
 * Result of user code for one event: its outputs, or the final outcome of the event if there are
 * none.
 */
export type TransformResult =
  | { outputs: Output[] }
  | { outcome: EventOutcome; live?: LiveProgram | undefined };

/**
 * Runs the destination's published code over the events that need it. Returns one result for each
 * event. A result is undefined if the batch or its outputs are too large: the caller must pass this
 * event again. Returns undefined when the delivery is stopped first.
 */
export async function transform(
  context: TransformContext,
  events: readonly LaneEvent[],
): Promise<(TransformResult | undefined)[] | undefined> {
  const destination = context.destination();
  const live = context.live.program(destination.id);
  const passesFilter = filterOf(destination.filter);
  const seen = new Set<string>();
  const results = events.map(
    (event) =>
      resultOfUnwanted(event, destination, passesFilter) ?? resultOfRequeued(event, live, seen),
  );
  // The code may have been published after the batch was taken, so that its batches are smaller.
  // The events without a result run again.
  const due = events.filter((_, index) => results[index] === undefined);
  const inputs =
    due.length > TRANSFORM_BATCH_EVENTS_MAX ? due.slice(0, TRANSFORM_BATCH_EVENTS) : due;
  const run = inputs.length === 0 ? undefined : await runLive(context, inputs);
  if (!context.isRunning()) return undefined;
  let ran = 0;
  return results.map((known, index) => {
    if (known !== undefined) return known;
    // Without code, the event is sent unchanged.
    if (run === undefined) {
      return { outputs: [createOutput(events[index]!, events[index]!.input.event.json)] };
    }
    const outcome = run.outcomes[ran++];
    return outcome && resultOf(events[index]!, outcome, run.live);
  });
}

/**
 * Returns the outcome `dropped` for an event that the destination must not get, because the event
 * itself, the settings of its source or the destination's filter exclude it. Otherwise returns
 * undefined.
 */
function resultOfUnwanted(
  { origin, input }: LaneEvent,
  destination: Destination,
  passesFilter: (json: Uint8Array) => boolean,
): TransformResult | undefined {
  // A dead letter has passed these checks already.
  if ("requeued" in origin) return undefined;
  const { choice, isDropped, json } = input.event;
  const isWanted =
    !isDropped && (choice === undefined || isChosen(choice, destination)) && passesFilter(json);
  return isWanted ? undefined : { outcome: { kind: "dropped" } };
}

/**
 * Returns the result of a requeued dead letter for which the published code need not run; otherwise
 * undefined.
 * - If the letter is an output of the same code: this output, unchanged.
 * - If `seen` has the key of the letter's received event: `discarded`, because the code already
 *   runs over this event. Otherwise the key is added to `seen`.
 */
function resultOfRequeued(
  event: LaneEvent,
  live: LiveProgram | undefined,
  seen: Set<string>,
): TransformResult | undefined {
  if (!("requeued" in event.origin)) return undefined;
  const { stage, text, programId } = event.origin.requeued;
  if (stage === "deliver" && programId === live?.id) {
    // The destination refused the output, and the same code would make the same output again.
    return { outputs: [createOutput(event, Buffer.from(text), live)] };
  }
  const key = eventKey(event.origin.requeued);
  // The dead letter is another output of an event that already runs.
  if (seen.has(key)) return { outcome: { kind: "discarded" } };
  seen.add(key);
  return undefined;
}

function resultOf(event: LaneEvent, made: ProgramOutcome, live: LiveProgram): TransformResult {
  if ("error" in made) {
    const { message, line, column } = made.error;
    const reason = credentialMask(live.credentials).error(message);
    const outcome = { kind: "dead-letter", stage: "transform", reason } as const;
    return { outcome: { ...outcome, line, column }, live };
  }
  if (made.events.length === 0) return { outcome: { kind: "dropped" }, live };
  // Copied, since one waiting output would otherwise keep the guest's whole answer in memory.
  return { outputs: made.events.map((bytes) => createOutput(event, new Uint8Array(bytes), live)) };
}

/**
 * Published code → its program in the sandbox. The same object is used each time, because the
 * sandbox recognizes a program by its object.
 */
const programs = new WeakMap<LiveProgram, Program>();

/**
 * Runs the destination's published code over events. Waits while no sandbox process is available;
 * each attempt uses the code that is published then. Returns undefined when no code is published or
 * the delivery is stopped.
 */
async function runLive(context: TransformContext, events: readonly LaneEvent[]) {
  for (let failures = 1; context.isRunning(); failures++) {
    const destination = context.destination();
    const started = performance.now();
    try {
      const live = context.live.program(destination.id);
      if (live === undefined) {
        // Code that no sandbox process ran may have been removed meanwhile.
        context.setWaiting(false);
        return undefined;
      }
      const json = events.map(({ input }) => context.removeOverrides(input.event.json));
      const metadataOf = createMetadata(destination, live, context.live.sourceById);
      const metadata = events.map(({ input }) => metadataOf(input));
      const lines: LogLine[] = [];
      const logSink = {
        ...context.codeLogs.room(live.transformation.id),
        take: (taken: LogLine[]) => void lines.push(...taken),
      };
      const outcomes = await context.unlessStopped(
        context.sandbox.run(
          programs.getOrInsertComputed(live, programOf),
          { events: json, metadata },
          logSink,
        ),
      );
      if (outcomes === undefined) return undefined;
      if (outcomes.length === 0) throw new Error("Expected an outcome, got none");
      assert(outcomes.length <= events.length, "A batch has no more outcomes than events");
      // Events without an outcome run again, and then write their lines again.
      const ran = lines.filter(({ event = 0 }) => event < outcomes.length);
      context.codeLogs.add(live, destination.id, ran, (at) => events[at]?.input.messageId);
      context.onRun(live, outcomes, (performance.now() - started) / 1_000);
      context.setWaiting(false);
      return { live, outcomes };
    } catch (error) {
      if (error instanceof InvariantError) throw error;
      context.setWaiting(true);
      const level = error instanceof SandboxUnavailable ? "warn" : "error";
      const fields = { destinationId: destination.id, err: error };
      context.logger[level](fields, "batch waits for the sandbox");
      await context.pause(retryDelayMs(failures, context.clock.random()));
    }
  }
  return undefined;
}
