import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { TopicIds } from "../cluster/topics/ensure-topic.ts";
import { waitForFile } from "../disk/lock.ts";
import { makeDirectory, syncPath } from "../disk/sync.ts";
import { messageOf, StartError } from "../errors.ts";
import { LOG_LOCK_MS_MAX } from "../settings/limits.ts";
import type { Config } from "../settings/reader.ts";

/** Raised with every change after which an older pixelmill would misread the data. */
const FORMAT = 1;

/** A path in the data directory, below which lies everything that pixelmill writes. */
const inData = (config: Config, name: string) => join(resolve(config.data), name);

/** LMDB: workspaces, members, tokens, sources, destinations, connections, code. */
export const catalogDirectory = (config: Config) => inData(config, "catalog");
/** One event log directory per ingest process. */
export const eventsDirectory = (config: Config) => inData(config, "events");
/** LMDB: cursors and dead letters of the pipeline. */
export const deliveryDirectory = (config: Config) => inData(config, "delivery");
/** What `file` destinations write. */
export const filesDirectory = (config: Config) => inData(config, "files");

/** What a node of a cluster keeps: views of what the nodes share. */
export const clusterDirectory = (config: Config, name: string) => inData(config, `cluster/${name}`);

/** The topics that a node has used, by name, which are on disk when `put` returns. */
export function topicIds(config: Config): TopicIds {
  const path = clusterDirectory(config, "topics");
  const known = (): Record<string, string> =>
    existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  return {
    get: (name) => known()[name],
    put(name, id) {
      const ids = known();
      if (ids[name] === id) return;
      makeDirectory(dirname(path), 0o700);
      const part = `${path}.part`;
      writeFileSync(part, JSON.stringify({ ...ids, [name]: id }), { flush: true });
      renameSync(part, path);
      syncPath(dirname(path));
    },
  };
}

/** The file that tells which version of the format the data have. */
export const formatFile = (config: Config) => inData(config, "format");
/** While this file exists, the server delivers nothing: the data are a copy of another server's. */
export const holdFile = (config: Config) => inData(config, "held");

/**
 * Locks the data directory for one server, and returns the function that lets go of it. A server
 * that is ending is waited for; `StartError` when one stays, since two servers would each deliver
 * what is owed.
 */
export async function acquireDataLock(config: Config): Promise<() => void> {
  const unlock = await waitForFile(inData(config, "lock"), "exclusive", LOG_LOCK_MS_MAX);
  if (unlock !== undefined) return unlock;
  throw new StartError(
    `Expected to be the only server of ${resolve(config.data)}, but another one held its lock for ${LOG_LOCK_MS_MAX / 1_000} s`,
  );
}

/**
 * Whether an admin token was made here that nobody may have seen, because its start did not come to
 * print it.
 */
export function unprintedToken(config: Config) {
  const path = inData(config, "unseen-token");
  return {
    get: () => existsSync(path),
    /** Durable when this returns. */
    set(is: boolean): void {
      if (is) writeFileSync(path, "", { flush: true });
      else rmSync(path, { force: true });
      syncPath(resolve(config.data));
    },
  };
}

/** A server with data of its own becomes a node by taking these along, and not by forgetting them. */
export function expectNodeDirectory(config: Config): void {
  if (!existsSync(catalogDirectory(config))) return;
  throw new StartError(
    `Expected the data directory of a node, but ${resolve(config.data)} is that of a server without cluster.kafka; \`pixelmill cluster import\` takes its data along`,
  );
}

/** A node that forgot its cluster would begin anew, with nothing in it. */
export function expectStandaloneDirectory(config: Config): void {
  if (!existsSync(clusterDirectory(config, ""))) return;
  throw new StartError(
    `Expected the setting cluster.kafka, since ${resolve(config.data)} is the data directory of a node`,
  );
}

/**
 * Refuses a directory that pixelmill did not make: a mistyped path must not become a data
 * directory.
 */
export function expectDataDirectory(config: Config): void {
  try {
    statSync(formatFile(config));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Whether there are data cannot be seen without the right to look into the directory.
    const known = code === "ENOENT" || code === "ENOTDIR";
    throw new StartError(
      known
        ? `Expected a data directory of pixelmill, got ${resolve(config.data)}`
        : `Cannot use the data directory ${resolve(config.data)}: ${messageOf(error)}`,
    );
  }
  prepareDataDirectory(config);
}

/**
 * Makes the data directory, or checks that this pixelmill understands what is in it. `StartError`
 * when another version wrote it, or when it cannot be used.
 */
export function prepareDataDirectory(config: Config): void {
  const directory = resolve(config.data);
  const path = formatFile(config);
  let format = "";
  try {
    // The directory holds people's data and hashes of secrets, which are for the operator alone.
    expectNoFile(directory);
    makeDirectory(directory, 0o700);
    if (existsSync(path)) format = readFileSync(path, "utf8").trim();
    // The file is empty when the first start was cut off before it wrote the version.
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

/** `mkdir` says of a file only that it exists. */
function expectNoFile(directory: string): void {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) throw new Error("expected a directory, got a file");
}
