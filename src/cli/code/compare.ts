import { StartError } from "../../errors.ts";
import type { LocalCode } from "./code-directory.ts";
import { compareTexts, fileNameOf, fingerprint, folders } from "./code-item.ts";
import type { ServerCode } from "./server-code.ts";
import type { SyncState } from "./sync-state.ts";

/** A transformation or library in the directory, on the server, or in both places. */
export interface ComparedCode {
  path: string;
  local?: LocalCode;
  server?: ServerCode;
  /**
   * Result of comparing the directory's code with the server's code.
   * - `same`: equal in both
   * - `new-here`: only in the directory
   * - `new-there`: only on the server
   * - `changed-here`: changed only in the directory since they were last equal
   * - `changed-there`: changed only on the server since they were last equal
   * - `changed-both`: changed in both, or never equal
   */
  state: "same" | "new-here" | "new-there" | "changed-here" | "changed-there" | "changed-both";
}

/**
 * Compares the local transformations and libraries with those of the server, paired by the id in
 * `state`, or else by kind and name. Records equal pairs in `state`. Throws `StartError` if several
 * server items have the kind and name of a local one.
 */
export function compareCode(
  locals: readonly LocalCode[],
  servers: readonly ServerCode[],
  state: SyncState,
): ComparedCode[] {
  const left = new Set(servers);
  const paired = new Map<LocalCode, ServerCode>();
  const pair = (local: LocalCode, server: ServerCode | undefined) => {
    if (server === undefined || paired.has(local)) return;
    paired.set(local, server);
    left.delete(server);
  };
  for (const local of locals) {
    const known = state.get(local.path)?.id;
    pair(
      local,
      [...left].find((it) => it.id === known && it.content.kind === local.content.kind),
    );
  }
  for (const local of locals) if (!paired.has(local)) pair(local, sameName(local, [...left]));
  const both = locals.map((local): ComparedCode => {
    const server = paired.get(local);
    return {
      path: local.path,
      local,
      ...(server && { server }),
      state: stateOf(local, server, state),
    };
  });
  for (const { path, server, state: found } of both) {
    if (server && found === "same") record(state, path, server);
  }
  const taken = new Set(locals.map(({ path }) => path));
  const others = [...left].map((server): ComparedCode => {
    const path = freePath(server, state, taken);
    taken.add(path);
    return { path, server, state: "new-there" };
  });
  return [...both, ...others].sort((one, other) => compareTexts(one.path, other.path));
}

/** Records in `state` that the folder at `path` and an item of the server are equal. */
export function record(
  state: SyncState,
  path: string,
  { id, content }: Pick<ServerCode, "id" | "content">,
): void {
  state.set(path, { id, base: fingerprint(content) });
}

function sameName({ path, content }: LocalCode, servers: ServerCode[]): ServerCode | undefined {
  const found = servers.filter(
    (it) => it.content.kind === content.kind && it.content.name === content.name,
  );
  if (found.length > 1) {
    const what = `${found.length} ${folders[content.kind]}`;
    throw new StartError(`The server has ${what} with the name of ${path}; rename all but one`);
  }
  return found[0];
}

function stateOf(local: LocalCode, server: ServerCode | undefined, state: SyncState) {
  if (server === undefined) return "new-here";
  const [here, there] = [fingerprint(local.content), fingerprint(server.content)];
  if (here === there) return "same";
  const known = state.get(local.path);
  const base = known?.id === server.id ? known.base : undefined;
  if (base === there) return "changed-here";
  return base === here ? "changed-there" : "changed-both";
}

function freePath({ id, content }: ServerCode, state: SyncState, taken: Set<string>): string {
  const known = state.pathOf(id);
  if (known !== undefined && !taken.has(known)) return known;
  const folder = folders[content.kind];
  const names = [...taken].filter((path) => path.startsWith(`${folder}/`));
  const takenNames = new Set(names.map((path) => path.slice(folder.length + 1)));
  return `${folder}/${fileNameOf(content.name, takenNames)}`;
}
