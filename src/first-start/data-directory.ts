import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { TopicIds } from "../cluster/topics/ensure-topic.ts";
import { waitForFile } from "../disk/lock.ts";
import { makeDirectory, syncPath } from "../disk/sync.ts";
import { messageOf, StartError } from "../errors.ts";
import { LOG_LOCK_MS_MAX } from "../settings/limits.ts";
import type { Config } from "../settings/reader.ts";

/** Format version, raised with every change that an older version would misread. */
const FORMAT = 1;

/** A path in the data directory, below which lies everything that pixelmill writes. */
const inData = (config: Config, name: string) => join(resolve(config.data), name);

/** LMDB: workspaces, members, tokens, sources, destinations, connections, code. */
export const catalogDirectory = (config: Config) => inData(config, "catalog");
/** One event log directory per ingest process. */
export const eventsDirectory = (config: Config) => inData(config, "events");
/** LMDB: cursors and dead letters of the pipeline. */
export const deliveryDirectory = (config: Config) => inData(config, "delivery");
/** Files that `file` destinations write. */
export const filesDirectory = (config: Config) => inData(config, "files");

/** State of a node of a cluster: its views of the shared logs. */
export const clusterDirectory = (config: Config, name: string) => inData(config, `cluster/${name}`);

/** Ids of the topics that a node has used, by name; on disk when `put` returns. */
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

/** File with the version of the data format. */
export const formatFile = (config: Config) => inData(config, "format");
/** While this file exists, the server delivers nothing: the data are a copy of another server's. */
export const holdFile = (config: Config) => inData(config, "held");

/**
 * Locks the data directory for one server, and returns the function that unlocks it. Waits for a
 * server that is ending; throws `StartError` when it keeps the lock, since two servers would each
 * deliver the same events.
 */
export async function acquireDataLock(config: Config): Promise<() => void> {
  const unlock = await waitForFile(inData(config, "lock"), "exclusive", LOG_LOCK_MS_MAX);
  if (unlock !== undefined) return unlock;
  throw new StartError(
    `Expected to be the only server of ${resolve(config.data)}, but another one held its lock for ${LOG_LOCK_MS_MAX / 1_000} s`,
  );
}

/**
 * Marker of an admin token that was created but perhaps not printed, because the start was
 * interrupted.
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

/**
 * Refuses the data directory of a standalone server, whose data would be ignored: `cluster import`
 * moves them to the cluster.
 */
export function expectNodeDirectory(config: Config): void {
  if (!existsSync(catalogDirectory(config))) return;
  throw new StartError(
    `Expected the data directory of a node, but ${resolve(config.data)} is that of a server without cluster.kafka; \`pixelmill cluster import\` takes its data along`,
  );
}

/**
 * Refuses the data directory of a node: without its cluster it would start with an empty catalog.
 */
export function expectStandaloneDirectory(config: Config): void {
  if (!existsSync(clusterDirectory(config, ""))) return;
  throw new StartError(
    `Expected the setting cluster.kafka, since ${resolve(config.data)} is the data directory of a node`,
  );
}

/**
 * Refuses a directory that pixelmill did not create: a mistyped path must not become a data
 * directory.
 */
export function expectDataDirectory(config: Config): void {
  try {
    statSync(formatFile(config));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Without the right to read the directory, its content is unknown.
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
 * Creates the data directory, or checks that this version can read it. Throws `StartError` when
 * another version wrote it, or when it cannot be used.
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

/** Throws a clear error when a file has this path: `mkdir` only says that it exists. */
function expectNoFile(directory: string): void {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) throw new Error("expected a directory, got a file");
}
