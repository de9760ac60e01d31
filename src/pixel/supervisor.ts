import { closeSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Counter } from "prom-client";
import type { Positions } from "../catalog/model.ts";
import { makeDirectory } from "../disk/sync.ts";
import { cannotListen } from "../errors.ts";
import { type ListeningSocket, openListeningSocket } from "../http/listening-socket.ts";
import { httpUrl } from "../http/url.ts";
import type { DurableNews, LogReader } from "../log/event-log.ts";
import { lockDirectory } from "../log/lock.ts";
import { Losses } from "../log/losses.ts";
import { type DurableMark, openMark } from "../log/mark.ts";
import { openLogReader } from "../log/reader.ts";
import { settleLog } from "../log/recovery.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { IngestProcess } from "./ingest-process.ts";
import type { IngestSettings, ProcessMetrics } from "./messages.ts";

type PerProcess = "index" | "directory" | "firstSequence" | "otherLogs";

export interface IngestOptions extends Omit<IngestSettings, PerProcess> {
  host: string;
  /** argv that starts this executable as an ingest process. */
  command: readonly string[];
  count: number;
  /** Holds one event log directory per process, named by its number. */
  directory: string;
  /**
   * By event log directory name: numbers below were read by a lane or named by a connection,
   * whatever the log holds.
   */
  known?: Positions;
  logger: Logger;
  metrics?: Metrics;
}

export interface Ingest {
  /** The data plane's address, the same for all processes. */
  url: string;
  /** Readers by event log directory name, also of logs that no process writes any more. */
  readers: ReadonlyMap<string, LogReader>;
  /** Where the event logs end now: beyond every record that was acknowledged before the call. */
  logEnds(): Positions;
  /**
   * Calls the listener when there are more durable records to read. Returns the function that ends
   * the calls.
   */
  onDurable(listener: (news?: DurableNews) => void): () => void;
  /** Whether every process listens and can write its log. */
  healthy(): boolean;
  /** A sentence for each loss of an event log. */
  warnings(): string[];
  /** Process ids, for the operator's eyes and tests. */
  pids(): number[];
  /** The metrics of each process, labelled with the process's name. */
  metrics(): Promise<ProcessMetrics[]>;
  /**
   * Ends the processes: each answers the requests under way and makes them durable. The logs stay
   * readable.
   */
  stop(): Promise<void>;
  /** Ends the processes, unless `stop` has done so, and closes the logs. */
  close(): Promise<void>;
}

/**
 * Starts the processes that take pixels, keeps them alive, and opens the logs they write. The data
 * plane's socket is the server's, and all processes accept from it: a connection that comes while a
 * process dies waits for another process, or for the next one. Throws `StartError` when a process
 * cannot start, or when the port is taken.
 */
export async function startIngestProcesses(options: IngestOptions): Promise<Ingest> {
  const listeners = new Set<(news?: DurableNews) => void>();
  const notify = (news?: DurableNews) => {
    for (const listener of listeners) listener(news);
  };
  const deaths = options.metrics && deathCounter(options.metrics);
  const losses = new Losses(options);
  const logs = await openLogs(options, losses);
  const socket = listenOn(options);

  const processes: IngestProcess[] = [];
  const stop = once(async () => {
    closeSync(socket.fd);
    await Promise.all(processes.map((process) => process.close()));
  });
  const close = async () => {
    await stop();
    await Promise.all(logs.values().map(({ reader }) => reader.close()));
  };
  const start = (index: number) => {
    const log = logs.get(String(index))!;
    const process = new IngestProcess({
      command: options.command,
      settings: settingsOf(options, logs, index, socket.port),
      socketFd: socket.fd,
      logger: options.logger,
      firstSequence: () => Math.max(options.known?.[index] ?? 0, log.reader.end()),
      onMissing: (gap) => losses.missing(log.directory, gap, gap.to - gap.from),
      onOpened(durable) {
        log.mark ??= openMark(log.directory);
        log.reader.advance(durable);
        notify();
      },
      onDurable(sequence, sources) {
        log.reader.advance(sequence);
        notify(sources && { log: String(index), end: sequence, sources });
      },
      onDeath: () => deaths?.inc(),
    });
    processes.push(process);
    return process.start();
  };

  try {
    await Promise.all(Array.from({ length: options.count }, (_, index) => start(index)));
    // Processes listen only when all logs are open: each record tells where the other logs ended.
    await Promise.all(processes.map((process) => process.listen()));
    const url = urlOf(options.host, socket);
    const warnings = () => losses.warnings();
    return { ...ingestOf(url, logs, processes, listeners), warnings, stop, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function listenOn({ host, port }: IngestOptions): ListeningSocket {
  try {
    return openListeningSocket({ host, port });
  } catch (error) {
    throw cannotListen({ host, port }, error);
  }
}

function urlOf(host: string, { port }: ListeningSocket): string {
  return httpUrl(host, port);
}

/** Runs `work` at the first call; every call waits for its end. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

function settingsOf(
  options: IngestOptions,
  logs: ReadonlyMap<string, Log>,
  index: number,
  port: number,
): Omit<IngestSettings, "firstSequence"> {
  const { catalogDirectory, trustedProxies, recordClientAddress, logLevel, count } = options;
  const others = [...logs].filter(([name, { isEmpty }]) => name !== String(index) && !isEmpty);
  return {
    index,
    directory: logs.get(String(index))!.directory,
    otherLogs: others.map(([name, { directory }]) => ({ log: Number(name), directory })),
    catalogDirectory,
    port,
    trustedProxies,
    recordClientAddress,
    // Connections spread over the processes, which do not tell each other how many pixels they
    // took.
    pixelsPerSecondMax: options.pixelsPerSecondMax / count,
    connectionsPerNetworkMax: options.connectionsPerNetworkMax,
    logLevel,
  };
}

interface Log {
  directory: string;
  reader: LogReader;
  /** Set once a process of this server writes the log. */
  mark: DurableMark | undefined;
  /** Whether the log holds nothing and no process of this server writes it. */
  isEmpty: boolean;
}

function ingestOf(
  url: string,
  logs: ReadonlyMap<string, Log>,
  processes: readonly IngestProcess[],
  listeners: Set<(news?: DurableNews) => void>,
): Omit<Ingest, "warnings" | "stop" | "close"> {
  return {
    url,
    readers: new Map([...logs].map(([name, { reader }]) => [name, reader])),
    logEnds: () => Object.fromEntries([...logs].map(([name, { reader }]) => [name, reader.end()])),
    onDurable(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    healthy: () => processes.every((process) => process.healthy()),
    pids: () => processes.map((process) => process.pid()).filter((pid) => pid !== undefined),
    metrics: () => Promise.all(processes.map((process) => process.metrics())),
  };
}

/**
 * Opens the logs of the processes to start, and those that earlier processes left behind. Waits for
 * processes of an earlier server that still write a log, since these also hold the port.
 */
async function openLogs(options: IngestOptions, losses: Losses): Promise<Map<string, Log>> {
  makeDirectory(options.directory);
  const left = readdirSync(options.directory).filter((name) => /^\d+$/.test(name));
  const used = Array.from({ length: options.count }, (_, i) => String(i));
  const logs = new Map<string, Log>();
  for (const name of new Set([...used, ...left])) {
    const directory = join(options.directory, name);
    const { logger } = options;
    const log: Log = { directory, mark: undefined, reader: undefined as never, isEmpty: false };
    log.reader = await openLogReader({
      directory,
      ...{ logger, losses },
      durable: () => log.mark?.get() ?? 0,
    });
    if (used.includes(name)) await awaitWriter(directory);
    else await settleLeft(log, options.known?.[name] ?? 0, logger, losses);
    logs.set(name, log);
  }
  return logs;
}

async function awaitWriter(directory: string): Promise<void> {
  makeDirectory(directory);
  const unlock = await lockDirectory(directory);
  unlock();
}

async function settleLeft(log: Log, known: number, logger: Logger, losses: Losses): Promise<void> {
  const { directory, reader } = log;
  const end = await settleLog({ directory, logger });
  if (known > end) losses.missing(directory, { from: end, to: known }, known - end);
  reader.advance(Math.max(end, known));
  // The last writer's mark may be gone after a power loss.
  openMark(directory).set(reader.end());
  log.isEmpty = reader.end() <= reader.first();
}

function deathCounter(metrics: Metrics): Counter {
  return new Counter({
    name: "pixelmill_ingest_deaths_total",
    help: "Ingest processes that died and were started again",
    registers: [metrics],
  });
}
