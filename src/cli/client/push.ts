import { RequestRefused } from "../../api/client.ts";
import { pluralize } from "../../console/format.ts";
import { applyContent, publishAll } from "../code/apply.ts";
import { type ComparedCode, record } from "../code/compare.ts";
import { type ComparedDirectory, compareDirectory, directoryArgs } from "../code/directory-call.ts";
import type { ServerCode } from "../code/server-code.ts";
import { type CommandCall, clientCommand } from "../connection/client-command.ts";
import { plain } from "../terminal/text.ts";
import { stateLine } from "./diff.ts";

export const push = clientCommand(
  "push",
  "Bring a directory of code to the server; what is live changes with --publish only",
  {
    ...directoryArgs,
    "dry-run": { type: "boolean", description: "say what would change" },
    publish: { type: "boolean", description: "make the pushed code live, all or nothing" },
    overwrite: { type: "boolean", description: "also over changes that others made" },
  },
  async (call) => {
    const { output, args } = call;
    const compared = await compareDirectory(call);
    const { codes, state } = compared;
    const overwrites = args.overwrite === true;
    const conflicts = overwrites ? [] : codes.filter(isConflict);
    const wanted = codes.filter((it) => it.local && it.state !== "same");
    const ownOnly = codes.filter((it) => it.local !== undefined);
    if (conflicts.length > 0) {
      for (const code of conflicts) output.print(stateLine(code, output));
      output.note("pixelmill: Nothing was pushed; pull first, or push with --overwrite");
      return 1;
    }
    for (const code of wanted) output.print(stateLine(code, output));
    if (args["dry-run"] === true) {
      output.print(`${pluralize(wanted.length, "item")} to push${unpublished(call, ownOnly)}`);
      return 0;
    }
    const pushed = await pushAll(call, compared, wanted);
    state.save();
    if (pushed === undefined) return 1;
    output.print(`${pluralize(wanted.length, "item")} pushed`);
    return args.publish === true ? publish(call, ownOnly, pushed) : 0;
  },
);

const isConflict = ({ state }: ComparedCode) =>
  state === "changed-there" || state === "changed-both";

function unpublished({ args }: CommandCall, codes: ComparedCode[]): string {
  if (args.publish !== true) return "";
  const live = codes.filter(({ state, server }) => state === "same" && server?.isPublished);
  return `, ${codes.length - live.length} to publish`;
}

/**
 * Pushes the compared code to the server, libraries before the transformations that import them.
 * Returns the server's code by path. If others have changed code on the server since it was
 * compared, stops and returns `undefined`.
 */
async function pushAll(
  { client, output }: CommandCall,
  { state }: ComparedDirectory,
  wanted: readonly ComparedCode[],
): Promise<Map<string, ServerCode> | undefined> {
  const pushed = new Map<string, ServerCode>();
  for (const { path, local, server } of wanted) {
    try {
      const now = await applyContent(client, local!.content, server);
      pushed.set(path, now);
      // If others have changed the code since then, it differs from this content.
      record(state, path, { id: now.id, content: local!.content });
    } catch (error) {
      state.save();
      if (!(error instanceof RequestRefused) || error.status !== 412) throw error;
      output.note(`pixelmill: ${plain(path)}: ${plain(error.message)}; run pixelmill diff`);
      return undefined;
    }
  }
  return pushed;
}

async function publish(
  { client, output }: CommandCall,
  codes: readonly ComparedCode[],
  pushed: ReadonlyMap<string, ServerCode>,
): Promise<number> {
  const now = codes.flatMap(({ path, server }) => pushed.get(path) ?? server ?? []);
  const waiting = now.filter(({ isPublished }) => !isPublished);
  if (waiting.length === 0) {
    output.print("nothing to publish");
    return 0;
  }
  const refusals = await publishAll(client, waiting);
  for (const reason of refusals) output.note(`pixelmill: ${plain(reason)}`);
  if (refusals.length === 0) output.print(`${pluralize(waiting.length, "item")} published`);
  return refusals.length === 0 ? 0 : 1;
}
