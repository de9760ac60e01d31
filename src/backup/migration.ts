import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { Registry } from "prom-client";
import { openCatalog } from "../catalog/open.ts";
import { syncPath } from "../disk/sync.ts";
import { StartError } from "../errors.ts";
import { eventOf } from "../event/event.ts";
import { decodeRecord, eventRecordCodec } from "../event/record.ts";
import {
  acquireDataLock,
  catalogDirectory,
  clusterDirectory,
  deliveryDirectory,
  eventsDirectory,
  expectDataDirectory,
  prepareDataDirectory,
} from "../first-start/data-directory.ts";
import { openFileLogs } from "../ingest/log/file-logs.ts";
import type { LogReader } from "../log/event-log.ts";
import { openLogWriter } from "../log/writer.ts";
import type { Logger } from "../observe/log.ts";
import { Ledger } from "../pipeline/ledger/ledger.ts";
import { createLaneMetrics } from "../pipeline/monitoring/metrics.ts";
import { type RepetitionSearch, SharedReader } from "../pipeline/reading/shared-reader.ts";
import type { Config } from "../settings/keys.ts";
import { openStore } from "../store/lmdb/lmdb-store.ts";
import { withoutClose } from "../store/store.ts";
import { type CopiedEvents, copyCatalog, copyDeadLetters, writeLaneCursors } from "./copy.ts";
import {
  appendAll,
  catalogOptions,
  expectBrokers,
  ledgerOptions,
  openStoppedCluster,
} from "./stopped-cluster.ts";
import { addUnsettledKeys, type UnsettledKeys, unsettledEvents } from "./unsettled.ts";

/** How many items an import or export has copied. */
interface MigrationCounts {
  workspaces: number;
  /** Number of events that wait for delivery to at least one destination, without dead letters. */
  events: number;
  deadLetters: number;
}

/**
 * Imports the data of a stopped standalone server into a new cluster, and moves the old data to
 * `before-cluster`. Can be repeated after an interruption. Throws `StartError` if a server or node
 * is running, or the cluster has data.
 */
export async function importStandalone(config: Config, logger: Logger): Promise<MigrationCounts> {
  expectBrokers(config);
  expectDataDirectory(config);
  await using stack = new AsyncDisposableStack();
  stack.defer(await acquireDataLock(config));
  const keepMade = removeAfterFailure(stack, [clusterDirectory(config, "")]);
  if (!existsSync(catalogDirectory(config))) {
    throw new StartError(`Expected the data of a server without cluster.kafka in ${config.data}`);
  }
  const cluster = await openStoppedCluster(config, logger, stack);
  const catalog = await openCatalog({ directory: catalogDirectory(config), logger });
  stack.defer(() => catalog.close());
  const workspaces = catalog.workspaces.list();
  cluster.expectNew(new Set(workspaces.map(({ id }) => id)));

  const delivery = openStore({ path: deliveryDirectory(config), ...ledgerOptions(logger) });
  stack.defer(() => delivery.close());
  const ledger = new Ledger(withoutClose(delivery), logger);
  expectNoJobs(ledger);
  const files = await openFileLogs({ directory: eventsDirectory(config), count: 0, logger });
  stack.defer(() => files.close());

  const debts: UnsettledKeys = new Map();
  const logs = sharedReaderOf(files.readers, logger).subset(
    files.readers,
    storedRepetitions(ledger),
  );
  await addUnsettledKeys(debts, { live: catalog.live, logs, lane: (id) => ledger.lane(id) });
  const placed = await cluster.append(unsettledEvents(files.readers, debts));
  await writeLaneCursors(catalog.live, debts, placed, (log) => cluster.ledgerOf(log));
  const deadLetters = await copyDeadLetters(delivery, (letter) =>
    cluster.ledgerOfUser(letter.user),
  );
  await ledger.close();
  const rows = openStore(catalogOptions(catalogDirectory(config), logger));
  stack.defer(() => rows.close());
  await cluster.expectNoNodeSince();
  await copyCatalog(rows, cluster.catalog, endsOf(placed));
  await cluster.expectNoNodeSince();
  keepMade();
  await stack.disposeAsync();
  moveDataAside(config);
  return { workspaces: workspaces.length, events: countOf(placed), deadLetters };
}

/** Exports the data of a stopped cluster into a new data directory for a standalone server. */
export async function exportStandalone(config: Config, logger: Logger): Promise<MigrationCounts> {
  if (standaloneDirectories(config).some((it) => existsSync(it))) {
    throw new StartError(`Expected a directory without data, got ${config.data}`);
  }
  expectBrokers(config);
  await using stack = new AsyncDisposableStack();
  prepareDataDirectory(config);
  stack.defer(await acquireDataLock(config));
  const made = [...standaloneDirectories(config), clusterDirectory(config, "")];
  const keepMade = removeAfterFailure(stack, made);
  const cluster = await openStoppedCluster(config, logger, stack);
  const ends = await cluster.logs.ends();
  const catalog = await cluster.openCatalog();
  const debts: UnsettledKeys = new Map();
  const shared = sharedReaderOf(cluster.logs.readers, logger);
  for (const [log, ledger] of cluster.ledgers) {
    expectNoJobs(ledger);
    const logs = shared.subset({ keys: () => [log] }, storedRepetitions(ledger));
    await addUnsettledKeys(debts, { live: catalog.live, logs, lane: (id) => ledger.lane(id) });
  }
  const events = unsettledEvents(cluster.logs.readers, debts);
  const placed = new Map([["0", await appendStandalone(config, logger, events)]]);
  const delivery = openStore({ path: deliveryDirectory(config), ...ledgerOptions(logger) });
  stack.defer(() => delivery.close());
  await writeLaneCursors(catalog.live, debts, placed, () => delivery);
  let deadLetters = 0;
  for (const log of cluster.ledgers.keys()) {
    deadLetters += await copyDeadLetters(cluster.ledgerOf(log), () => delivery);
  }
  const workspaces = catalog.workspaces.list().length;
  const to = openStore(catalogOptions(catalogDirectory(config), logger));
  stack.defer(() => to.close());
  await copyCatalog(cluster.view, to, endsOf(placed));
  await cluster.expectNoNodeSince();
  if (!Bun.deepEquals(await cluster.logs.ends(), ends)) {
    throw new StartError("Expected no new events during the export; stop all nodes and repeat it");
  }
  keepMade();
  await stack.disposeAsync();
  rmSync(clusterDirectory(config, ""), { recursive: true });
  return { workspaces, events: countOf(placed), deadLetters };
}

/**
 * Returns a `RepetitionSearch` that looks repetitions up in the ledger and reads no logs. A
 * repetition is an event that its client had sent before.
 */
function storedRepetitions({ repetitions }: Ledger): RepetitionSearch {
  return {
    async search() {},
    previousOf(at, position) {
      const row = repetitions.find(at, position);
      return row && { log: row[1], sequence: row[2], receivedAt: row[3] };
    },
  };
}

/**
 * Directories with the data of a standalone server. If the first one, the catalog's, does not
 * exist, the server has no data.
 */
const standaloneDirectories = (config: Config) => [
  catalogDirectory(config),
  eventsDirectory(config),
  deliveryDirectory(config),
];

/**
 * Makes the disposal of `stack` delete those of `directories` that do not exist yet, because
 * leftovers would make the next command fail. After a success, the caller must call the returned
 * function, which prevents the deletion.
 */
function removeAfterFailure(stack: AsyncDisposableStack, directories: string[]): () => void {
  let made = directories.filter((it) => !existsSync(it));
  stack.defer(() => {
    for (const it of made) rmSync(it, { recursive: true, force: true });
  });
  return () => {
    made = [];
  };
}

function expectNoJobs(ledger: Ledger): void {
  if (ledger.jobs.running().length === 0) return;
  throw new StartError("Expected no running replay; wait for its end, or cancel it");
}

function sharedReaderOf(readers: ReadonlyMap<string, LogReader>, logger: Logger): SharedReader {
  const none = () => [];
  const metrics = createLaneMetrics(new Registry(), {
    lanes: none,
    deadLetters: none,
    heldBytes: () => 0,
    heldLogs: none,
  });
  return new SharedReader({ readers, decode: decodeRecord, eventOf, logger, metrics });
}

const endsOf = (placed: ReadonlyMap<string, CopiedEvents>) =>
  Object.fromEntries([...placed].map(([log, { end }]) => [log, end]));

const countOf = (placed: ReadonlyMap<string, CopiedEvents>) =>
  placed.values().reduce((sum, { keys }) => sum + keys.length, 0);

async function appendStandalone(
  config: Config,
  logger: Logger,
  events: ReturnType<typeof unsettledEvents>,
): Promise<CopiedEvents> {
  const directory = join(eventsDirectory(config), "0");
  const log = await openLogWriter({ directory, codec: eventRecordCodec, logger });
  try {
    const appended = await appendAll(events, (record) => ({ log: "0", done: log.append(record) }));
    const keys = appended.get("0") ?? [];
    const sequences = [...keys.keys()];
    return { keys, sequences, end: log.durable() };
  } finally {
    await log.close();
  }
}

/**
 * Moves the data of the standalone server to `before-cluster`, so that no server opens them by
 * mistake.
 */
function moveDataAside(config: Config): void {
  const aside = join(config.data, "before-cluster");
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  // A directory without a catalog belongs to a cluster node.
  for (const path of standaloneDirectories(config))
    if (existsSync(path)) renameSync(path, join(aside, basename(path)));
  syncPath(aside);
  syncPath(config.data);
}
