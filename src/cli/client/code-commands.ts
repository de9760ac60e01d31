import { statSync } from "node:fs";
import { RequestRefused } from "../../api/client.ts";
import { pluralize } from "../../console/format.ts";
import { orStartError, StartError } from "../../errors.ts";
import { applyContent, publishAll } from "../code/apply.ts";
import { readCodeDirectory, writeCode } from "../code/code-directory.ts";
import { type CodeContent, caseText, metadataText } from "../code/code-item.ts";
import { type ComparedCode, compareCode, record } from "../code/compare.ts";
import { lineDiff } from "../code/line-diff.ts";
import { readServerCode, type ServerCode } from "../code/server-code.ts";
import { SyncState } from "../code/sync-state.ts";
import { type CommandCall, clientCommand } from "../connection/client-command.ts";
import type { CommandOutput } from "../terminal/output.ts";
import { plain, plainLines } from "../terminal/text.ts";

/** Flags and arguments of commands that compare a directory of code with the server. */
const directoryArgs = {
  directory: {
    type: "positional",
    required: false,
    description: "directory with transformations and libraries [.]",
  },
} as const;

/** Result of comparing a directory of code with the code of a server. */
type ComparedDirectory = Awaited<ReturnType<typeof compareDirectory>>;

/**
 * Compares a directory's code with the server's. Throws `StartError` if there is no directory of
 * code.
 */
async function compareDirectory({ client, args }: CommandCall) {
  const root = String(args.directory ?? ".");
  if (!isDirectory(root)) throw new StartError(`Expected a directory, got ${root}`);
  const locals = readCodeDirectory(root);
  const { workspace } = await client.call("GET /v2/workspace");
  const servers = await readServerCode(client);
  const state = new SyncState(root, workspace.id);
  return { root, state, codes: compareCode(locals, servers, state) };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

export const diff = clientCommand(
  "diff",
  "Show how a directory of code differs from the server; exit code 1 if it does",
  {
    ...directoryArgs,
    names: { type: "boolean", description: "print the paths alone" },
  },
  async (call) => {
    const { codes } = await compareDirectory(call);
    const differing = codes.filter(({ state }) => state !== "same");
    for (const code of differing) {
      call.output.print(stateLine(code, call.output));
      if (call.args.names !== true) printContents(code, call.output);
    }
    if (differing.length === 0) call.output.print("nothing differs");
    return differing.length > 0 ? 1 : 0;
  },
);

const words: Record<ComparedCode["state"], string> = {
  same: "same",
  "new-here": "only here",
  "new-there": "only on the server",
  "changed-here": "changed here",
  "changed-there": "changed on the server",
  "changed-both": "changed here and on the server",
};

/**
 * Formats one line: the path of a transformation or library, and how it differs from the server's.
 */
function stateLine({ path, state }: ComparedCode, output: CommandOutput): string {
  return `${output.paint("bold", plain(path))}: ${words[state]}`;
}

/**
 * Prints a diff of the changes that a push would make to the server's code. Lines that are only on
 * the server count as removed, lines that are only in the directory as added.
 */
function printContents({ local, server }: ComparedCode, output: CommandOutput): void {
  const here = local ? filesOf(local.content) : new Map<string, string>();
  const there = server ? filesOf(server.content) : new Map<string, string>();
  for (const name of [...new Set([...there.keys(), ...here.keys()])]) {
    const lines = lineDiff(there.get(name) ?? "", here.get(name) ?? "");
    if (lines.length > 0) output.print(output.paint("dim", `  ${plain(name)}`));
    for (const line of lines) {
      const text = plainLines(line);
      if (line.startsWith("+")) output.print(`  ${output.paint("green", text)}`);
      else output.print(`  ${line.startsWith("-") ? output.paint("red", text) : text}`);
    }
  }
}

function filesOf(content: CodeContent): Map<string, string> {
  return new Map([
    [`${content.kind}.json`, metadataText(content)],
    ["code", content.code],
    ...content.tests.map((it): [string, string] => [`test ${it.name}`, caseText(it)]),
  ]);
}

export const pull = clientCommand(
  "pull",
  "Write the transformations and libraries of the server into a directory",
  {
    ...directoryArgs,
    "dry-run": { type: "boolean", description: "say what would be written" },
    overwrite: { type: "boolean", description: "write also over what was changed here" },
  },
  async (call) => {
    const { output, args } = call;
    const { root, state, codes } = await compareDirectory(call);
    const isDry = args["dry-run"] === true;
    const wanted = codes.filter((it) => isPulled(it, args.overwrite === true));
    const kept = codes.filter(({ state }) => state === "changed-both" || state === "changed-here");
    const conflicts = kept.filter((it) => !wanted.includes(it));
    for (const code of wanted) {
      output.print(stateLine(code, output));
      if (isDry) continue;
      const { path, server } = code;
      const write = () => writeCode(root, { path, content: server!.content });
      orStartError(`Cannot write ${root}/${path}`, write);
      record(state, path, server!);
    }
    if (!isDry) state.save();
    for (const code of conflicts) output.print(`${stateLine(code, output)}; kept`);
    output.print(`${pluralize(wanted.length, "item")} ${isDry ? "to write" : "written"}`);
    return conflicts.some(({ state }) => state === "changed-both") ? 1 : 0;
  },
);

function isPulled({ state, server }: ComparedCode, overwrites: boolean): boolean {
  if (server === undefined || state === "same") return false;
  return overwrites || state === "new-there" || state === "changed-there";
}

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
 * Pushes the compared code to the server in the order of `wanted`. Returns the code as the server
 * then has it, by path. If others have changed an item since the comparison, stops and returns
 * `undefined`.
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
      // Records the pushed content. That of `now` differs if others have changed the code since.
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
