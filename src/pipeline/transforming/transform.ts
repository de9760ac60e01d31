import type { Live, LiveProgram } from "../../catalog/catalog.ts";
import type { Destination } from "../../catalog/model.ts";
import type { Logger } from "../../observe/log.ts";
import { programOf } from "../../publishing/guest-program.ts";
import type { Program, ProgramOutcome } from "../../sandbox/program.ts";
import { type Sandbox, SandboxUnavailable } from "../../sandbox/sandbox.ts";
import { retryDelayMs } from "../delivering/retry.ts";
import {
  createOutput,
  type EventOutcome,
  type LaneEvent,
  type Output,
} from "../model/lane-event.ts";
import { createMetadata } from "./metadata.ts";

export interface TransformContext {
  live: Live;
  sandbox: Sandbox;
  logger: Logger;
  destination(): Destination;
  running(): boolean;
  random(): number;
  /** The event as code may have it. */
  withhold(event: Uint8Array): Uint8Array;
  /** Waits, but no longer than until the lane's settings change. */
  pause(ms: number): Promise<void>;
  /**
   * What `work` resolves to; undefined when the lane ends first, since nothing may hold up its end.
   */
  unlessEnding<T>(work: Promise<T>): Promise<T | undefined>;
  /** Tells whether the lane waits for a guest. */
  waiting(is: boolean): void;
  /** A batch ran in the sandbox: what became of its events, and how long that took. */
  ran(live: LiveProgram, outcomes: readonly ProgramOutcome[], seconds: number): void;
}

/** What an item became: outputs to deliver, or its end. */
export type TransformResult =
  | { outputs: Output[] }
  | { ending: EventOutcome; live?: LiveProgram | undefined };

/**
 * What the live code makes of items; of the first ones alone when it makes too much of them.
 * Undefined when the lane stopped before that was known.
 */
export async function transform(
  host: TransformContext,
  items: readonly LaneEvent[],
): Promise<Map<LaneEvent, TransformResult> | undefined> {
  const live = host.live.program(host.destination().id);
  const made = new Map<LaneEvent, TransformResult>();
  const seen = new Set<string>();
  for (const item of items) {
    if (!("replayOf" in item.origin)) continue;
    const { stage, text, ...letter } = item.origin.replayOf;
    if (stage === "deliver" && letter.programId === live?.id) {
      // The destination failed the output, and the same code would make the same output again.
      made.set(item, { outputs: [createOutput(item, Buffer.from(text), live)] });
    } else if (seen.has(letter.messageId)) {
      // The dead letter is another output of an event that already runs.
      made.set(item, { ending: { kind: "discarded" } });
    } else seen.add(letter.messageId);
  }
  const raw = items.filter((item) => !made.has(item));
  const ran = raw.length === 0 ? undefined : await runLive(host, raw);
  if (!host.running()) return undefined;
  for (const [index, item] of raw.entries()) {
    const outcome = ran?.outcomes[index];
    if (ran === undefined) made.set(item, asItCame(item));
    else if (outcome !== undefined) made.set(item, madeOf(item, outcome, ran.live));
  }
  return made;
}

function asItCame(item: LaneEvent): TransformResult {
  return { outputs: [createOutput(item, item.input.event.json)] };
}

function madeOf(item: LaneEvent, outcome: ProgramOutcome, live: LiveProgram): TransformResult {
  if ("error" in outcome) {
    const { message, line, column } = outcome.error;
    const ending = { kind: "dead-letter", stage: "transform", reason: message } as const;
    return { ending: { ...ending, line, column }, live };
  }
  if (outcome.events.length === 0) return { ending: { kind: "dropped" }, live };
  // Copied, since one output that waits would otherwise keep the guest's whole answer in memory.
  return {
    outputs: outcome.events.map((bytes) => createOutput(item, new Uint8Array(bytes), live)),
  };
}

/**
 * Runs the code that is live now. Undefined when there is none, or the lane stops. While no guest
 * can be had it waits, and then asks for the live code again; the events are safe in the log
 * meanwhile.
 */
async function runLive(host: TransformContext, items: readonly LaneEvent[]) {
  for (let failures = 1; host.running(); failures++) {
    const destination = host.destination();
    const started = performance.now();
    try {
      const live = host.live.program(destination.id);
      if (live === undefined) return undefined;
      const events = items.map(({ input }) => host.withhold(input.event.json));
      const metadataOf = createMetadata(destination, live, host.live.sourceById);
      const metadata = items.map(({ input }) => metadataOf(input));
      const outcomes = await host.unlessEnding(
        host.sandbox.run(sharedProgramOf(live), { events, metadata }),
      );
      if (outcomes === undefined) return undefined;
      if (outcomes.length === 0) throw new Error("Expected an outcome");
      host.ran(live, outcomes, (performance.now() - started) / 1_000);
      host.waiting(false);
      return { live, outcomes };
    } catch (error) {
      host.waiting(true);
      const level = error instanceof SandboxUnavailable ? "warn" : "error";
      const about = { destinationId: destination.id, err: error };
      host.logger[level](about, "A batch waits for the sandbox");
      await host.pause(retryDelayMs(failures, host.random()));
    }
  }
  return undefined;
}

const programs = new WeakMap<LiveProgram, Program>();

/** The same program object for the same live code, so that the sandbox recognizes the program. */
function sharedProgramOf(live: LiveProgram): Program {
  const known = programs.get(live) ?? programOf(live);
  programs.set(live, known);
  return known;
}
