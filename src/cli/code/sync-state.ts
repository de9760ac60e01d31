import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { codeOf, StartError, systemReason } from "../../errors.ts";
import { isObject } from "../../is-object.ts";

/** Name of the file in the root of a directory of code. */
const FILE = ".pixelmill-state.json";

/** The server's code that a folder contained when both were last equal. */
interface SyncedCode {
  id: string;
  /** Fingerprint of the content at that time. */
  base: string;
}

type States = Record<string, Record<string, SyncedCode>>;

/**
 * Stores, for each workspace, which code of the server each folder contains, and the content that
 * both had. If the server's content differs from it, others have changed it.
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

  /** Returns the folder that contained this code of the server. */
  pathOf(id: string): string | undefined {
    return Object.entries(this.#own).find(([, synced]) => synced.id === id)?.[0];
  }

  set(path: string, synced: SyncedCode): void {
    this.#own[path] = synced;
  }

  delete(path: string): void {
    delete this.#own[path];
  }

  /** Writes the file if something has changed. */
  save(): void {
    const sorted = Object.fromEntries(
      Object.entries(this.#own).sort(([a], [b]) => (a < b ? -1 : 1)),
    );
    const states = { ...this.#states, [this.workspaceId]: sorted };
    if (Object.keys(sorted).length === 0) delete states[this.workspaceId];
    if (Bun.deepEquals(states, this.#states)) return;
    const file = join(this.root, FILE);
    try {
      writeFileSync(file, `${JSON.stringify(states, null, 2)}\n`);
    } catch (error) {
      throw new StartError(`Cannot write ${file}: ${systemReason(error)}`);
    }
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
  const isSynced = (it: unknown) =>
    isObject(it) && typeof it.id === "string" && typeof it.base === "string";
  return isObject(own) && Object.values(own).every(isSynced);
}
