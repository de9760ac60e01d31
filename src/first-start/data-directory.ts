import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { TopicIds } from "../cluster/topics/ensure-topic.ts";
import { lockFile, waitForFile } from "../disk/lock.ts";
import { makeDirectory, syncPath } from "../disk/sync.ts";
import { codeOf, messageOf, StartError } from "../errors.ts";
import type { Config } from "../settings/keys.ts";
import { LOG_LOCK_MS_MAX } from "../settings/limits.ts";

/**
 * Version of the data format. It is raised with each change that would make an older release
 * misread the data. A release refuses data with another version.
 */
const FORMAT = 1;

/** Returns the path of an entry in the data directory, in which pixelmill stores all its files. */
const inData = (config: Config, name: string) => join(resolve(config.data), name);

/**
 * Directory of the LMDB store with workspaces, members, tokens, sources, destinations, connections
 * and code.
 */
export const catalogDirectory = (config: Config) => inData(config, "catalog");
/** Directory with one event log directory for each ingest process. */
export const eventsDirectory = (config: Config) => inData(config, "events");
/**
 * Directory of the LMDB store with the delivery positions (cursors) and the dead letters (events
 * that were given up).
 */
export const deliveryDirectory = (config: Config) => inData(config, "delivery");
/** Directory of the files that `file` destinations write. */
export const filesDirectory = (config: Config) => inData(config, "files");

/** File of the LMDB store with figures by minute and hour. */
export const figuresFile = (config: Config) => inData(config, "figures/figures.mdb");

/**
 * Returns the directory of one part of a cluster node's local state, such as its copy of the
 * catalog.
 */
export const clusterDirectory = (config: Config, name: string) => inData(config, `cluster/${name}`);

/**
 * Opens the file with the ids of the Kafka topics that this node has used. A topic whose id differs
 * from the stored one was created again. Changes are durable when `put` returns. Throws
 * `StartError` for a file of another `cluster.name`.
 */
export function topicIds(config: Config): TopicIds {
  const path = clusterDirectory(config, "topics");
  const known = (): Record<string, string> =>
    existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  const name = config["cluster.name"];
  const used = Object.keys(known()).map((topic) => topic.slice(0, topic.lastIndexOf(".")));
  const other = used.find((it) => it !== name);
  if (other !== undefined) {
    const expected = `Expected the cluster.name ${other}, which the data directory ${resolve(config.data)} belongs to, got ${name}`;
    throw new StartError(`${expected}: use another data directory for a node of ${name}`);
  }
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

/** Unix socket at which a running server accepts commands from its operator. */
export const controlSocket = (config: Config) => inData(config, "control.sock");

/** File with an id of this data directory. The names of its backups in a bucket contain the id. */
export const dataIdFile = (config: Config) => inData(config, "backup-id");

/** File that contains the version of the data format. */
export const formatFile = (config: Config) => inData(config, "format");
/**
 * Path of the file that puts deliveries on hold: a server that finds it at its start delivers
 * nothing until the file is removed. The command `restore` creates it with the option `hold`.
 */
export const holdFile = (config: Config) => inData(config, "held");

/**
 * Returns a function that says whether deliveries are on hold. They are if `holdFile` exists now,
 * until it is removed. If the file is created later, it has no effect before the next start.
 */
export function watchHold(config: Config): () => boolean {
  let isOnHold = existsSync(holdFile(config));
  return () => (isOnHold &&= existsSync(holdFile(config)));
}

/** File that a running server locks, so that no second server uses its data directory. */
const dataLock = (config: Config) => inData(config, "lock");

/** Unix socket on which a running server hands its listening sockets to its replacement. */
export const takeOverSocket = (config: Config) => inData(config, "take-over");

/**
 * Locks the data directory for one server, because two servers with the same data would deliver
 * events twice. Returns a function that unlocks it. Throws `StartError` if another server still
 * holds the lock after `LOG_LOCK_MS_MAX`.
 */
export async function acquireDataLock(config: Config): Promise<() => void> {
  const unlock = await waitForFile(dataLock(config), "exclusive", LOG_LOCK_MS_MAX);
  if (unlock !== undefined) return unlock;
  throw new StartError(
    `Expected to be the only server of ${resolve(config.data)}, but another one held its lock for ${LOG_LOCK_MS_MAX / 1_000} s: stop it first`,
  );
}

/** Whether another server has locked the data directory. */
export function isDataLocked(config: Config): boolean {
  const unlock = lockFile(dataLock(config), "exclusive");
  unlock?.();
  return unlock === undefined;
}

/**
 * Returns an object with which a start marks, by a file, that it has created an admin token but not
 * printed it yet. If the start is interrupted in between, the next start finds the file.
 */
export function unprintedToken(config: Config) {
  const path = inData(config, "unseen-token");
  return {
    get: () => existsSync(path),
    /**
     * Creates the marker file if `isUnprinted` is true, and removes it otherwise. The change is
     * durable when `set` returns.
     */
    set(isUnprinted: boolean): void {
      if (isUnprinted) writeFileSync(path, "", { flush: true });
      else rmSync(path, { force: true });
      syncPath(resolve(config.data));
    },
  };
}

/**
 * Throws `StartError` when a cluster node would start in the data directory of a standalone server.
 * The node would ignore the data in it; the command `cluster import` moves this data to the
 * cluster.
 */
function expectNodeDirectory(config: Config): void {
  if (!existsSync(catalogDirectory(config))) return;
  throw new StartError(
    `Expected the data directory of a node, but ${resolve(config.data)} is that of a server without cluster.kafka; \`pixelmill cluster import\` takes its data along`,
  );
}

/**
 * Throws `StartError` when a server without `cluster.kafka` would start in the data directory of a
 * cluster node. Also throws `StartError` when the directory has incomplete data, because a cluster
 * import or export was interrupted there.
 */
function expectStandaloneDirectory(config: Config): void {
  const cluster = clusterDirectory(config, "");
  if (!existsSync(cluster)) return;
  const data = resolve(config.data);
  throw new StartError(
    existsSync(catalogDirectory(config))
      ? `Expected complete data in ${data}, but a cluster import or export was interrupted there: repeat the import, or export into another directory`
      : `Expected the setting cluster.kafka, since ${data} is the data directory of a node`,
  );
}

/**
 * Throws `StartError` when the data directory does not fit `config`. If `config` names brokers of a
 * cluster, the directory must belong to a node of this cluster. Otherwise the directory must belong
 * to a standalone server.
 */
export function expectFittingDirectory(config: Config): void {
  if (config["cluster.kafka"].length === 0) expectStandaloneDirectory(config);
  else {
    expectNodeDirectory(config);
    topicIds(config);
  }
}

/**
 * Throws `StartError` if the data directory belongs to a cluster node. A command for a standalone
 * server would create a catalog in it, and the node would then refuse to start.
 */
export function expectStandaloneData(config: Config): void {
  if (existsSync(catalogDirectory(config))) return;
  const isNode = existsSync(clusterDirectory(config, "")) || config["cluster.kafka"].length > 0;
  if (!isNode) return;
  throw new StartError(
    `Expected the data of a server without cluster.kafka, but ${resolve(config.data)} is the data directory of a node: this command does not work on a cluster`,
  );
}

/**
 * Throws `StartError` when the configured directory is not a data directory that pixelmill created.
 * A directory with a mistyped path therefore never becomes a data directory.
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
        : unusable(resolve(config.data), error),
    );
  }
  prepareDataDirectory(config);
}

/**
 * Creates the data directory, or checks that this release can read the existing one. Throws
 * `StartError` when another release wrote it in a format that this release cannot read, or when the
 * directory cannot be used.
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
    // The file is empty when the first start was interrupted before it wrote the version.
    if (format === "") {
      format = String(FORMAT);
      writeFileSync(path, `${format}\n`, { flush: true });
      syncPath(directory);
    }
    expectStoresUsable(config);
  } catch (error) {
    throw new StartError(unusable(directory, error));
  }
  if (format === String(FORMAT)) return;
  throw new StartError(
    `Expected data of format ${FORMAT} in ${directory}, got format ${format}: another version of pixelmill wrote it`,
  );
}

/**
 * Throws when `directory` is the path of a file. Without this check, `mkdir` would fail with an
 * error that only says that the path exists.
 */
function expectNoFile(directory: string): void {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) throw new Error("expected a directory, got a file");
}

/**
 * Throws when this process may not read and write a file of a store or event log in the data
 * directory, for example because an earlier start as root created it. Ignores other files.
 */
function expectStoresUsable(config: Config): void {
  expectAccess(resolve(config.data));
  const stores = [catalogDirectory(config), eventsDirectory(config), deliveryDirectory(config)];
  stores.push(dirname(figuresFile(config)), inData(config, "cluster"));
  for (const path of stores) {
    expectAccess(path);
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) continue;
    const entries = readdirSync(path, { recursive: true, withFileTypes: true });
    for (const entry of entries) expectAccess(join(entry.parentPath, entry.name));
  }
}

/** Throws when a file or directory exists and this process has no right to read and write it. */
function expectAccess(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

function unusable(directory: string, error: unknown): string {
  const isOfOwner = ["EACCES", "EPERM"].includes(codeOf(error));
  const advice = isOfOwner ? `; make it this user's own: chown -R ${process.getuid?.()}` : "";
  return `Cannot use the data directory ${directory}: ${messageOf(error)}${advice}`;
}
