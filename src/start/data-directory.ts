import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "../config.ts";
import { waitForFile } from "../disk/lock.ts";
import { makeDirectory, syncPath } from "../disk/sync.ts";
import { messageOf, StartError } from "../errors.ts";
import { LOG_LOCK_MS_MAX } from "../limits.ts";

/** Raised with every change after which an older pixelmill would misread what lies here. */
const FORMAT = 1;

/** The data directory: everything that pixelmill writes lies below it. */
const inData = (config: Config, name: string) => join(resolve(config.data), name);

/** LMDB: workspaces, tokens, sources, destinations, code. */
export const catalogDirectory = (config: Config) => inData(config, "catalog");
/** One event log directory per ingest process. */
export const eventsDirectory = (config: Config) => inData(config, "events");
/** LMDB: cursors and dead letters of the pipeline. */
export const deliveryDirectory = (config: Config) => inData(config, "delivery");
/** What `file` destinations write. */
export const filesDirectory = (config: Config) => inData(config, "files");

/** Says which version's data lie here. */
export const formatFile = (config: Config) => inData(config, "format");
/** While it is there, the server delivers nothing: the data are a copy of another server's. */
export const holdFile = (config: Config) => inData(config, "held");

/**
 * Takes the data directory for one server, and returns how to let go of it. One that is ending is
 * waited for; `StartError` when another one stays: each alone would deliver what is owed.
 */
export async function lockData(config: Config): Promise<() => void> {
  const unlock = await waitForFile(inData(config, "lock"), "exclusive", LOG_LOCK_MS_MAX);
  if (unlock !== undefined) return unlock;
  throw new StartError(
    `Expected to be the only server of ${resolve(config.data)}, but another one held its lock for ${LOG_LOCK_MS_MAX / 1_000} s`,
  );
}

/** Whether an admin token was made here that nobody may have seen: its start did not print it. */
export function tokenUnseen(config: Config) {
  const path = inData(config, "unseen-token");
  return {
    get: () => existsSync(path),
    /** On disk when it returns. */
    set(is: boolean): void {
      if (is) writeFileSync(path, "", { flush: true });
      else rmSync(path, { force: true });
      syncPath(resolve(config.data));
    },
  };
}

/** Refuses a directory that is none of pixelmill: a mistyped path must not become one. */
export function expectData(config: Config): void {
  if (!existsSync(formatFile(config))) {
    throw new StartError(`Expected a data directory of pixelmill, got ${resolve(config.data)}`);
  }
  prepareData(config);
}

/**
 * Makes the data directory, or checks that this pixelmill understands what is in it. `StartError`
 * when another version wrote it, or when it cannot be used.
 */
export function prepareData(config: Config): void {
  const directory = resolve(config.data);
  const path = formatFile(config);
  let format = "";
  try {
    // It holds people's data and hashes of secrets: for the operator alone.
    makeDirectory(directory, 0o700);
    if (existsSync(path)) format = readFileSync(path, "utf8").trim();
    // Empty: the first start was cut off before it had written anything.
    if (format === "") {
      format = String(FORMAT);
      writeFileSync(path, `${format}\n`, { flush: true });
      syncPath(directory);
    }
  } catch (error) {
    throw new StartError(`Cannot use the data directory ${directory}: ${messageOf(error)}`);
  }
  if (format === String(FORMAT)) return;
  throw new StartError(
    `Expected data of format ${FORMAT} in ${directory}, got format ${format}: another version of pixelmill wrote it`,
  );
}
