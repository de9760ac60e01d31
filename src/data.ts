import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Config } from "./config.ts";
import { messageOf, StartError } from "./errors.ts";

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
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (existsSync(path)) format = readFileSync(path, "utf8").trim();
    // Empty: the first start was cut off before it had written anything.
    if (format === "") {
      format = String(FORMAT);
      writeFileSync(path, `${format}\n`, { flush: true });
    }
  } catch (error) {
    throw new StartError(`Cannot use the data directory ${directory}: ${messageOf(error)}`);
  }
  if (format === String(FORMAT)) return;
  throw new StartError(
    `Expected data of format ${FORMAT} in ${directory}, got format ${format}: another version of pixelmill wrote it`,
  );
}
