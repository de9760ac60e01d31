import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, orStartError, StartError, systemReason } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import { folders } from "./code-item.ts";

/** Name of the file that stores a `SyncState`. It is in the root of a directory of code. */
const FILE = ".pixelmill-state.json";

/**
 * Record of a folder and its item on the server, made when both had equal contents. `id` is the id
 * of the item.
 */
interface SyncedCode {
  id: string;
  /** Fingerprint of the content when the folder and its item on the server were last equal. */
  base: string;
}

type States = Record<string, Record<string, SyncedCode>>;

/**
 * Stores, per workspace, which item of the server each folder contains, and a fingerprint of the
 * content when both were last equal. When the server's content has another fingerprint, the item
 * was changed on the server since.
 */
export class SyncState {
  readonly #states: States;
  readonly #own: Record<string, SyncedCode>;

  constructor(
    readonly root: string,
    readonly workspaceId: string,
  ) {
    this.#states = readStates(join(root, FILE));
    this.#own = { ...this.#states[workspaceId] };
  }

  get(path: string): SyncedCode | undefined {
    return this.#own[path];
  }

  /**
   * Returns the path of the folder that is stored for an item of the server, or `undefined` if none
   * is stored.
   */
  pathOf(id: string): string | undefined {
    return Object.entries(this.#own).find(([, synced]) => synced.id === id)?.[0];
  }

  set(path: string, synced: SyncedCode): void {
    this.#own[path] = synced;
  }

  /** Writes the sync state to its file, unless it equals the state that was read from the file. */
  save(): void {
    const sorted = Object.fromEntries(
      Object.entries(this.#own).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    const states = { ...this.#states, [this.workspaceId]: sorted };
    if (Object.keys(sorted).length === 0) delete states[this.workspaceId];
    if (Bun.deepEquals(states, this.#states)) return;
    const file = join(this.root, FILE);
    const text = `${JSON.stringify(states, null, 2)}\n`;
    orStartError(`Cannot write ${file}`, () => writeFileSync(file, text));
  }
}

function readStates(file: string): States {
  let states: unknown;
  try {
    states = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    if (codeOf(error) === "ENOENT") return {};
    throw new StartError(`Cannot read ${file}: ${systemReason(error)}`);
  }
  const fits = isObject(states) && Object.values(states).every(isStateOfWorkspace);
  if (!fits) throw new StartError(`Expected the state of a directory of code in ${file}`);
  return states as States;
}

function isStateOfWorkspace(own: unknown): boolean {
  const isSynced = ([path, it]: [string, unknown]) =>
    isFolder(path) && isObject(it) && typeof it.id === "string" && typeof it.base === "string";
  return isObject(own) && Object.entries(own).every(isSynced);
}

/**
 * Whether a path names a folder of one transformation or library. Commands write only to such
 * folders.
 */
function isFolder(path: string): boolean {
  const [kind = "", name = "", ...more] = path.split("/");
  const isKind = Object.values<string>(folders).includes(kind);
  return isKind && more.length === 0 && !["", ".", ".."].includes(name);
}
