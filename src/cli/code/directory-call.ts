import { statSync } from "node:fs";
import { StartError } from "../../errors.ts";
import type { CommandCall } from "../connection/client-command.ts";
import { type LocalCode, readCodeDirectory } from "./code-directory.ts";
import { compareCode } from "./compare.ts";
import { readServerCode, type ServerCode } from "./server-code.ts";
import { SyncState } from "./sync-state.ts";

/** Flags and arguments of commands that compare a directory of code with the server. */
export const directoryArgs = {
  directory: {
    type: "positional",
    required: false,
    description: "directory with transformations and libraries [.]",
  },
} as const;

/** Result of comparing a directory of code with the code of a server. */
export type ComparedDirectory = Awaited<ReturnType<typeof compareDirectory>>;

/**
 * Compares a directory's code with the server's. Throws `StartError` if there is no directory of
 * code.
 */
export async function compareDirectory({ client, args }: CommandCall) {
  const root = String(args.directory ?? ".");
  if (!isDirectory(root)) throw new StartError(`Expected a directory, got ${root}`);
  const locals: LocalCode[] = readCodeDirectory(root);
  const { workspace } = await client.call("GET /v2/workspace");
  const servers: ServerCode[] = await readServerCode(client);
  const state = new SyncState(root, workspace.id);
  return { root, state, codes: compareCode(locals, servers, state) };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
