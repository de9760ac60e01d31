import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Counter } from "prom-client";
import type { Positions } from "../catalog/model.ts";
import { cannotListen } from "../errors.ts";
import type { LogReader } from "../log/event-log.ts";
import { Losses } from "../log/losses.ts";
import { type DurableMark, openMark } from "../log/mark.ts";
import { openLogReader } from "../log/reader.ts";
import { settleLog } from "../log/recovery.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { IngestProcess } from "./ingest-process.ts";
import type { IngestSettings, ProcessMetrics } from "./messages.ts";

type PerProcess = "index" | "directory" | "firstSequence" | "reusePort";

export interface IngestOptions extends Omit<IngestSettings, PerProcess> {
  /** argv that starts this executable as an ingest process. */
  command: readonly string[];
  count: number;
  /** Holds one event log directory per process, named by its number. */
  directory: string;
  /** By event log directory name: numbers below were read, or named, whatever the log holds. */
  known?: Positions;
  logger: Logger;
  metrics?: Metrics;
}

export interface Ingest {
  /** The data plane's address, the same for all processes. */
  url: string;
  /** By event log directory name; also of logs that no process writes any more. */
  readers: ReadonlyMap<string, LogReader>;
  /** Where the event logs end now: beyond every record that was acknowledged before the call. */
  tails(): Positions;
  /** Calls back when there is more to read; returns the end of it. */
  onDurable(listener: () => void): () => void;
  /** Whether every process listens and can write its log. */
  healthy(): boolean;
  /** What the event logs lost, a sentence each. */
  warnings(): string[];
  /** Process ids, for the operator's eyes and tests. */
  pids(): number[];
  /** Of each process, labelled with its name. */
  metrics(): Promise<ProcessMetrics[]>;
  /** Ends the processes: answers what is under way, makes it durable. The logs stay readable. */
  stop(): Promise<void>;
  /** Ends the processes, unless `stop` has, and closes the logs. */
  close(): Promise<void>;
}

/**
 * Starts the processes that take pixels, keeps them alive, and opens the logs they write.
 * Throws `StartError` when one cannot start.
 */
export async function startIngestProcesses(options: IngestOptions): Promise<Ingest> {
  const listeners = new Set<() => void>();
  const notify = () => {
    for (const listener of listeners) listener();
  };
  const deaths = options.metrics && deathCounter(options.metrics);
  const losses = new Losses(options);
  const logs = await openLogs(options, losses);
  if (options.count > 1) refuseTakenPort(options);

  const processes: IngestProcess[] = [];
  const stop = async () => {
    await Promise.all(processes.map((process) => process.close()));
  };
  const close = async () => {
    await stop();
    await Promise.all(logs.values().map(({ reader }) => reader.close()));
  };
  const start = (index: number, port: number) => {
    const log = logs.get(String(index))!;
    const process = new IngestProcess({
      command: options.command,
      settings: settingsOf(options, index, log.directory, port),
      logger: options.logger,
      firstSequence: () => Math.max(options.known?.[index] ?? 0, log.reader.end()),
      onMissing: (gap) => losses.missing(log.directory, gap, gap.to - gap.from),
      onListening(durable) {
        log.mark ??= openMark(log.directory);
        log.reader.advance(durable);
        notify();
      },
      onDurable(sequence) {
        log.reader.advance(sequence);
        notify();
      },
      onDeath: () => deaths?.inc(),
    });
    processes.push(process);
    return process.start();
  };

  try {
    // The first one chooses the port when it is 0.
    const url = await start(0, options.port);
    const port = Number(new URL(url).port);
    await Promise.all(Array.from({ length: options.count - 1 }, (_, i) => start(i + 1, port)));
    const warnings = () => losses.warnings();
    return { ...ingestOf(url, logs, processes, listeners), warnings, stop, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function settingsOf(
  options: IngestOptions,
  index: number,
  directory: string,
  port: number,
): Omit<IngestSettings, "firstSequence"> {
  const { catalogDirectory, host, trustedProxies, recordClientAddress, logLevel, count } = options;
  return {
    index,
    directory,
    catalogDirectory,
    host,
    port,
    reusePort: count > 1,
    trustedProxies,
    recordClientAddress,
    // Connections spread over the processes, which do not tell each other what they took.
    pixelsPerSecondMax: options.pixelsPerSecondMax / count,
    logLevel,
  };
}

interface Log {
  directory: string;
  reader: LogReader;
  /** Set once a process of this server writes the log. */
  mark: DurableMark | undefined;
}

function ingestOf(
  url: string,
  logs: ReadonlyMap<string, Log>,
  processes: readonly IngestProcess[],
  listeners: Set<() => void>,
): Omit<Ingest, "warnings" | "stop" | "close"> {
  return {
    url,
    readers: new Map([...logs].map(([name, { reader }]) => [name, reader])),
    tails: () => Object.fromEntries([...logs].map(([name, { reader }]) => [name, reader.end()])),
    onDurable(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    healthy: () => processes.every((process) => process.healthy()),
    pids: () => processes.map((process) => process.pid()).filter((pid) => pid !== undefined),
    metrics: () => Promise.all(processes.map((process) => process.metrics())),
  };
}

/** The logs of the processes to start, and those that earlier ones left behind. */
async function openLogs(options: IngestOptions, losses: Losses): Promise<Map<string, Log>> {
  mkdirSync(options.directory, { recursive: true });
  const left = readdirSync(options.directory).filter((name) => /^\d+$/.test(name));
  const used = Array.from({ length: options.count }, (_, i) => String(i));
  const logs = new Map<string, Log>();
  for (const name of new Set([...used, ...left])) {
    const directory = join(options.directory, name);
    const { logger } = options;
    const log: Log = { directory, mark: undefined, reader: undefined as never };
    log.reader = await openLogReader({
      directory,
      ...{ logger, losses },
      durable: () => log.mark?.get() ?? 0,
    });
    if (!used.includes(name)) {
      const end = await settleLog({ directory, logger });
      const known = options.known?.[name] ?? 0;
      if (known > end) losses.missing(directory, { from: end, to: known }, known - end);
      log.reader.advance(Math.max(end, known));
    }
    logs.set(name, log);
  }
  return logs;
}

/** Sockets that share a port would let two servers share it unnoticed. */
function refuseTakenPort({ host, port }: IngestOptions): void {
  if (port === 0) return;
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
  } catch (error) {
    throw cannotListen({ host, port }, error);
  }
}

function deathCounter(metrics: Metrics): Counter {
  return new Counter({
    name: "pixelmill_ingest_deaths_total",
    help: "Ingest processes that died and were started again",
    registers: [metrics],
  });
}
