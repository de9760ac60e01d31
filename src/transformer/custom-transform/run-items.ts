import { assert } from "../../assert.ts";
import type { Sandbox } from "../../sandbox/guest-sandbox.ts";
import type { Program, ProgramOutcome } from "../../sandbox/program.ts";
import { GUEST_OUTPUT_LEVELS_MAX } from "../../settings/limits.ts";
import { TRANSFORMER_COSTLY_MS_MAX } from "../limits.ts";
import type { Programs } from "../programs.ts";
import type { ItemResult } from "./answer.ts";
import { programRequest } from "./program-request.ts";
import type { ItemGroup, RequestItem } from "./request-items.ts";

/** An event with its metadata, as JSON, and its index in the request. */
type Input = NonNullable<ReturnType<typeof inputOf>>;

export interface ItemRunOptions {
  programs: Programs;
  sandbox: Sandbox;
  /** Value that tests use instead of `TRANSFORMER_COSTLY_MS_MAX`. */
  costlyMsMax?: number | undefined;
}

/**
 * Runs each item through the program of its group. Resolves with one result per item; the results
 * must not be used once `isAwaited` has returned false. Rejects with `SandboxUnavailable` if code
 * cannot run at present, and with `ApiError` if it cannot be looked up.
 */
export async function runItems(
  { programs, sandbox, costlyMsMax = TRANSFORMER_COSTLY_MS_MAX }: ItemRunOptions,
  body: Buffer,
  items: readonly RequestItem[],
  isAwaited: () => boolean,
): Promise<ItemResult[]> {
  const results: ItemResult[] = new Array(items.length);
  const bounds = { costlyUntil: performance.now() + costlyMsMax, isAwaited };
  const groups = Map.groupBy(items.keys(), (index) => items[index]!.group);
  const runs = [...groups].map(async ([group, indexes]) => {
    const inputs = indexes.flatMap((index) => inputOf(body, items[index]!, index) ?? []);
    // The results of the items with an event replace these.
    for (const index of indexes) results[index] = items[index]!.isTooDeep ? tooDeep : noEvent;
    const found = await findProgram(group);
    const outcomes = "code" in found ? await runAll(found, inputs) : inputs.map(() => found);
    for (const [at, { index }] of inputs.entries()) results[index] = outcomes[at]!;
  });
  await Promise.all(runs);
  return results;

  async function findProgram(group: ItemGroup): Promise<Program | ItemResult> {
    const request = programRequest(body, group);
    if (request.versionId === "") return noVersion;
    const program = await programs.find(request);
    if (program !== undefined) return program;
    // The error repeats the version only if it has the form of a version.
    const version = /^\w{1,64}$/.test(request.versionId) ? request.versionId : "this version";
    const problem = `Transformation not found at ${version}: it was never published in the workspace`;
    return { problem, status: 404 };
  }

  /**
   * Runs a program over all inputs. When the outputs of a run take too much memory, the run stops
   * early, and another run continues with the remaining inputs.
   */
  async function runAll(program: Program, inputs: readonly Input[]): Promise<ProgramOutcome[]> {
    const all: ProgramOutcome[] = [];
    while (all.length < inputs.length) {
      const left = inputs.slice(all.length);
      const outcomes = await sandbox.run(program, {
        events: left.map(({ event }) => event),
        metadata: left.map(({ metadata }) => ({ shared: metadata, own: "" })),
        ...bounds,
      });
      assert(outcomes.length > 0 && outcomes.length <= left.length, "A run makes progress");
      all.push(...outcomes);
    }
    return all;
  }
}

function inputOf(body: Buffer, item: RequestItem, index: number) {
  const { message, metadata, isTooDeep } = item;
  if (message === undefined || isTooDeep) return undefined;
  return {
    index,
    event: body.subarray(message.start, message.end),
    metadata: metadata ? body.subarray(metadata.start, metadata.end) : noMetadata,
  };
}

const noMetadata = Buffer.from("{}");
const noEvent: ItemResult = { problem: "Expected a message that is an object", status: 400 };
const tooDeep: ItemResult = {
  problem: `Expected an event with at most ${GUEST_OUTPUT_LEVELS_MAX} levels`,
  status: 400,
};
const noVersion: ItemResult = { problem: "Transformation VersionID not found", status: 400 };
