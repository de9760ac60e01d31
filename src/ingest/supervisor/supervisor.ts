import { closeSync } from "node:fs";
import { Counter } from "prom-client";
import { type ListeningSocket, openListeningSocket } from "../../http/listening-socket.ts";
import { httpUrl } from "../../http/url.ts";
import type { Metrics } from "../../observe/metrics.ts";
import { KEPT_CONNECTIONS_MS, REQUEST_EXPECTED_MS } from "../../settings/limits.ts";
import type { ChangeableIngestSettings, IngestSettings } from "../messages.ts";
import { judgeIngest, RecentOutcomes } from "./ingest-health.ts";
import { IngestProcess, type IngestProcessOptions } from "./ingest-process.ts";

export interface IngestOptions
  extends Omit<IngestSettings, "index" | "log">,
    Pick<IngestProcessOptions, "command" | "logs" | "logger"> {
  host: string;
  /**
   * Listening socket from which the ingest processes accept events. It is closed when these
   * processes are stopped. If the option is absent, a socket is opened at `host` and `port`.
   */
  socket?: ListeningSocket | undefined;
  /** Number of ingest processes to start. */
  count: number;
  /** Called with the number of events stored for a source since the last call for this source. */
  onReceived?(sourceId: string, count: number): void;
  metrics?: Metrics;
}

export type Ingest = Awaited<ReturnType<typeof startIngestProcesses>>;

/**
 * Starts the ingest processes, and restarts those that die. New connections wait meanwhile, because
 * the server keeps the common listening socket open. Throws `StartError` if a process cannot start,
 * or if the port is in use.
 */
export async function startIngestProcesses(options: IngestOptions) {
  const { host, command, count, logs, logger, metrics, onReceived, ...rest } = options;
  const deaths =
    metrics &&
    new Counter({
      name: "pixelmill_ingest_deaths_total",
      help: "Ingest processes that died and were started again",
      registers: [metrics],
    });
  const { socket = openListeningSocket(options), ...settings } = rest;

  const processes: IngestProcess[] = [];
  const outcomes = new RecentOutcomes();
  const stop = once(async () => {
    closeSync(socket.fd);
    await Promise.all(processes.map((process) => process.close()));
  });
  // Connections spread over the processes, and each process counts only its own events. So each
  // process gets an equal part of the rate.
  const share = (rate: number) => rate / count;
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
        eventsPerSecondMax: share(settings.eventsPerSecondMax),
      },
      onDeath: () => deaths?.inc(),
      onOutcomes(recent, received) {
        outcomes.add(recent);
        for (const [sourceId, stored] of received) onReceived?.(sourceId, stored);
      },
    });
    processes.push(process);
    return process.start();
  };

  try {
    await Promise.all(Array.from({ length: count }, (_, index) => start(index)));
    // Processes listen only when all logs are open, because each record contains the ends of the
    // other logs.
    await Promise.all(processes.map((process) => process.listen()));
    return {
      /** URL of the port on which all ingest processes receive events. */
      url: httpUrl(socket.host ?? host, socket.port, settings.tls && "https"),
      /** Listening socket from which all ingest processes accept. */
      socket,
      /**
       * Returns the result of `judgeIngest`: whether this server accepts most events, and warnings.
       */
      health: () =>
        judgeIngest(
          processes.map((process) => process.state()),
          { ...outcomes.sum(), isRefusing: outcomes.isRefusing() },
        ),
      /** Returns the operating system's ids of the ingest processes. */
      pids: () => processes.map((process) => process.pid()).filter((pid) => pid !== undefined),
      /** Returns the metrics of each ingest process, with the process's name as a label. */
      metrics: () => Promise.all(processes.map((process) => process.metrics())),
      /**
       * Changes settings of all ingest processes. Each gets an equal part of `eventsPerSecondMax`.
       */
      configure(changed: ChangeableIngestSettings) {
        const eventsPerSecondMax = share(changed.eventsPerSecondMax);
        for (const process of processes) process.configure({ ...changed, eventsPerSecondMax });
      },
      /**
       * Asks clients to close their connections. New connections are still accepted. Resolves after
       * `KEPT_CONNECTIONS_MS` plus `REQUEST_EXPECTED_MS`, in which the clients should do so.
       */
      async drain() {
        for (const process of processes) process.drain();
        await Bun.sleep(KEPT_CONNECTIONS_MS + REQUEST_EXPECTED_MS);
      },
      /**
       * Ends the ingest processes. Before a process exits, it stores the events it has received and
       * responds to their requests.
       */
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Returns a function that calls `work` only the first time. Every call returns the promise of the
 * first call.
 */
function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= work();
    return done;
  };
}
