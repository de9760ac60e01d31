import type { Live, LiveProgram } from "../catalog/catalog.ts";
import type { Destination } from "../catalog/model.ts";
import type { Logger } from "../observe/log.ts";
import { programOf } from "../publishing/program.ts";
import type { Outcome, Program, Sandbox } from "../sandbox/program.ts";
import { SandboxUnavailable } from "../sandbox/program.ts";
import type { Item } from "./item.ts";
import { metadataJson } from "./metadata.ts";
import { retryDelayMs } from "./retry.ts";

export interface TransformHost {
  live: Live;
  sandbox: Sandbox;
  logger: Logger;
  running(): boolean;
  random(): number;
  pause(ms: number): Promise<void>;
  destination(): Destination;
  /** Whether the lane waits for a guest, for the metric. */
  waiting(is: boolean): void;
}

/** What the live code made of a batch: one outcome per item, in order. */
export interface Transformed {
  live: LiveProgram;
  outcomes: readonly Outcome[];
}

/**
 * Runs the code that is live for the destination now over a batch; undefined when there is none
 * (any more), or the lane stops. Waits as long as no guest can be had: the events are safe in
 * the log.
 */
export async function transform(
  host: TransformHost,
  items: readonly Item[],
): Promise<Transformed | undefined> {
  for (let failures = 0; host.running(); failures++) {
    const live = host.live.program(host.destination().id);
    if (live === undefined) return undefined;
    try {
      const outcomes = await host.sandbox.run(sharedProgramOf(live), {
        events: items.map(({ input }) => input.event.json),
        metadata: items.map(({ input }) =>
          metadataJson(input, host.live.sourceById(input.sourceId), host.destination(), live),
        ),
      });
      if (outcomes.length !== items.length) throw new Error("Expected one outcome per event");
      host.waiting(false);
      return { live, outcomes };
    } catch (error) {
      host.waiting(true);
      const level = error instanceof SandboxUnavailable ? "warn" : "error";
      const about = { destinationId: host.destination().id, err: error };
      host.logger[level](about, "A batch waits for the sandbox");
      await host.pause(retryDelayMs(failures + 1, host.random()));
    }
  }
  return undefined;
}

const programs = new WeakMap<LiveProgram, Program>();

/** The same program object for the same live code: the sandbox knows it by then. */
function sharedProgramOf(live: LiveProgram): Program {
  const known = programs.get(live) ?? programOf(live);
  programs.set(live, known);
  return known;
}
