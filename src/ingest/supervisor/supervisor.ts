import { closeSync } from "node:fs";
import { Counter } from "prom-client";
import { listenError } from "../../errors.ts";
import { type ListeningSocket, openListeningSocket } from "../../http/listening-socket.ts";
import { httpUrl } from "../../http/url.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { IngestLogs, IngestSettings, ProcessMetrics } from "../messages.ts";
import { IngestProcess } from "./ingest-process.ts";

export interface IngestOptions extends Omit<IngestSettings, "index" | "log"> {
  host: string;
  /** argv that starts this executable as an ingest process. */
  command: readonly string[];
  /** How many processes are started. */
  count: number;
  /** The logs that the processes write. */
  logs: IngestLogs;
  logger: Logger;
  metrics?: Metrics;
}

export interface Ingest {
  /** The data plane's address, the same for all processes. */
  url: string;
  /** Whether every process listens and can write its log. */
  healthy(): boolean;
  /** Process ids. */
  pids(): number[];
  /** The metrics of each process, labelled with the process's name. */
  metrics(): Promise<ProcessMetrics[]>;
  /** Ends the processes: each stores the events under way and responds to their requests. */
  stop(): Promise<void>;
}

/**
 * Starts the ingest processes and keeps them alive. The server owns the data plane's socket, and all
 * processes accept from it: a connection that comes while a process dies waits for another process,
 * or for its successor. Throws `StartError` when a process cannot start, or
 * when the port is taken.
 */
export async function startIngestProcesses(options: IngestOptions): Promise<Ingest> {
  const deaths = options.metrics && deathCounter(options.metrics);
  const { host, command, count, logs, logger, metrics: _, ...settings } = options;
  const socket = listenOn(options);

  const processes: IngestProcess[] = [];
  const stop = once(async () => {
    closeSync(socket.fd);
    await Promise.all(processes.map((process) => process.close()));
  });
  const start = (index: number) => {
    const process = new IngestProcess({
      command,
      logger,
      logs,
      socketFd: socket.fd,
      settings: {
        ...settings,
        index,
        port: socket.port,
        // Connections spread over the processes, which do not share their counts of pixels.
        pixelsPerSecondMax: settings.pixelsPerSecondMax / count,
      },
      onDeath: () => deaths?.inc(),
    });
    processes.push(process);
    return process.start();
  };

  try {
    await Promise.all(Array.from({ length: count }, (_, index) => start(index)));
    // Processes listen only when all logs are open: each record notes the ends of the other logs.
    await Promise.all(processes.map((process) => process.listen()));
    return {
      url: httpUrl(host, socket.port),
      healthy: () => processes.every((process) => process.healthy()),
      pids: () => processes.map((process) => process.pid()).filter((pid) => pid !== undefined),
      metrics: () => Promise.all(processes.map((process) => process.metrics())),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function listenOn({ host, port }: IngestOptions): ListeningSocket {
  try {
    return openListeningSocket({ host, port });
  } catch (error) {
    throw listenError({ host, port }, error);
  }
}

/** Runs `work` at the first call; every call resolves with its end. */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}

function deathCounter(metrics: Metrics): Counter {
  return new Counter({
    name: "pixelmill_ingest_deaths_total",
    help: "Ingest processes that died and were started again",
    registers: [metrics],
  });
}
