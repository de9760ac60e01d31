import { openCatalog } from "../../catalog/open.ts";
import { messageOf, StartError } from "../../errors.ts";
import { type EventRecord, eventRecordCodec } from "../../event/record.ts";
import { readDescriptorLimits } from "../../http/descriptor-limits.ts";
import type { LogHealth, RecordCodec } from "../../log/event-log.ts";
import { createLogger, type Logger } from "../../observe/log.ts";
import { createMetrics, type Metrics } from "../../observe/metrics.ts";
import { HTTP_CONNECTIONS_MAX } from "../../settings/limits.ts";
import { INGEST_CLOSE_MS_MAX, INGEST_PULSE_MS } from "../limits.ts";
import { createIngestListener } from "../listener.ts";
import { openFileLog } from "../log/file-log.ts";
import type { IngestLog, IngestLogContext } from "../log/ingest-log.ts";
import {
  type ChangeableIngestSettings,
  INGEST_SOCKET_FD,
  type IngestMessage,
  type IngestOutcomes,
  type IngestSettings,
  type ServerMessage,
} from "../messages.ts";

/**
 * Milliseconds in which an ingest process must send its responses and flush its log when the server
 * process has died.
 */
const INGEST_ORPHAN_MS_MAX = 2_000;

/**
 * Opens a log of Kafka partitions. Only this function reads `settings`; the ingest process passes
 * them on unread.
 */
export type OpenPartitions = (settings: object, parts: PartitionsContext) => Promise<IngestLog>;

interface PartitionsContext extends IngestLogContext {
  codec: RecordCodec<EventRecord>;
}

/**
 * Runs the internal command `ingest`: receives pixels and the events of SDKs, and appends them to
 * an event log. Ends when the server sends `close` or dies. Resolves with the exit code.
 */
export async function runIngestProcess(openPartitions: OpenPartitions): Promise<number> {
  // Ctrl-C and the stop command of a service manager signal all processes of the group. The signals
  // are ignored here, because the server decides when this process ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const) {
    process.on(signal, () => {});
  }
  const server = connect();
  const settings = await Promise.race([server.serve, server.end]);
  if (typeof settings === "string") return 0;

  const metrics = createMetrics(`ingest-${settings.index}`);
  server.serveMetrics(metrics);
  const logger = createLogger(settings.logLevel, { ingest: settings.index });
  try {
    const opened = open(settings, server, { openPartitions, logger, metrics });
    const close = await Promise.race([opened, server.end]);
    if (typeof close === "string") return 0;
    const waitMs = (await server.end) === "close" ? INGEST_CLOSE_MS_MAX : INGEST_ORPHAN_MS_MAX;
    const late = Bun.sleep(waitMs).then(() => "late" as const);
    return (await Promise.race([close(), late])) === "late" ? 1 : 0;
  } catch (error) {
    // The server prints only the message of a `StartError`. Any other error is a defect, so the
    // message contains the stack.
    if (!(error instanceof StartError)) {
      logger.error({ err: error }, "ingest process could not start");
    }
    server.send({ type: "failed", message: messageOf(error) });
    return 1;
  }
}

interface OpenContext extends Omit<IngestLogContext, "onHealth"> {
  openPartitions: OpenPartitions;
}

/**
 * Opens the catalog (the database of sources and write keys), the log and the listener. Returns a
 * function that closes them in reverse order.
 */
async function open(
  settings: IngestSettings,
  { send, listen, drain, onConfigure }: ReturnType<typeof connect>,
  { openPartitions, logger, metrics }: OpenContext,
): Promise<() => Promise<void>> {
  await using opening = new AsyncDisposableStack();
  const catalog = await openCatalog({ directory: settings.catalogDirectory, logger });
  opening.defer(() => catalog.close());
  const parts = { logger, metrics, onHealth: createHealthReporter(send) };
  const log =
    settings.log.kind === "files"
      ? await openFileLog(settings.log, { ...parts, send })
      : await openPartitions(settings.log.settings, { ...parts, codec: eventRecordCodec });
  opening.defer(() => log.close());

  const outcomes: IngestOutcomes = { stored: 0, refused: 0 };
  const received = new Map<string, number>();
  const sendPulse = () => {
    send({ type: "pulse", outcomes, ...(received.size > 0 && { received: [...received] }) });
    Object.assign(outcomes, { stored: 0, refused: 0 });
    received.clear();
  };
  // The last pulse has the events whose requests were answered while the listener stopped.
  opening.defer(sendPulse);
  const listener = createIngestListener({
    ...settings,
    outcomes,
    received,
    source: (writeKey) => catalog.live.source(writeKey),
    log,
    connectionsMax: connectionsMax(logger),
    logger,
    metrics,
  });
  onConfigure((changed) => {
    logger.level = changed.logLevel;
    listener.configure(changed);
  });
  const durable = log.durable?.();
  send({ type: "opened", ...(durable !== undefined && { durable }) });
  await listen;
  listener.start({ fd: INGEST_SOCKET_FD, port: settings.port });
  opening.defer(() => listener.stop());
  void drain.then(() => listener.drain());

  send({ type: "listening" });
  const pulse = setInterval(sendPulse, INGEST_PULSE_MS);
  opening.defer(() => clearInterval(pulse));
  const opened = opening.move();
  return () => opened.disposeAsync();
}

/** Returns a function that sends the log's health to the server when it has changed. */
function createHealthReporter(send: (message: IngestMessage) => void) {
  let reported = "";
  return (health: LogHealth) => {
    const text = JSON.stringify(health);
    if (text !== reported) send({ type: "health", health });
    reported = text;
  };
}

/**
 * Returns the maximum number of connections of this process: `HTTP_CONNECTIONS_MAX`, or fewer when
 * the operating system does not let this process open enough file descriptors.
 */
function connectionsMax(logger: Logger): number {
  const { max, connectionsMax } = readDescriptorLimits();
  if (connectionsMax >= HTTP_CONNECTIONS_MAX) return HTTP_CONNECTIONS_MAX;
  logger.warn(
    { descriptors: max, connections: connectionsMax, wanted: HTTP_CONNECTIONS_MAX },
    "open files limit leaves room for fewer connections",
  );
  return connectionsMax;
}

/**
 * Opens the IPC channel to the server. Returns promises that resolve when the server sends `serve`,
 * `listen` and `drain`. The promise `end` resolves when the server sends `close` or dies.
 */
function connect() {
  const serve = Promise.withResolvers<IngestSettings>();
  const listen = Promise.withResolvers<void>();
  const drain = Promise.withResolvers<void>();
  const end = Promise.withResolvers<"close" | "gone">();
  let metrics: Metrics | undefined;
  let configure: ((settings: ChangeableIngestSettings) => void) | undefined;
  let lastChange: ChangeableIngestSettings | undefined;
  const send = (message: IngestMessage) => {
    if (process.connected) process.send?.(message);
  };
  process.on("message", async (message: ServerMessage) => {
    if (message.type === "serve") serve.resolve(message);
    else if (message.type === "listen") listen.resolve();
    else if (message.type === "drain") drain.resolve();
    else if (message.type === "close") end.resolve("close");
    else if (message.type === "configure") {
      lastChange = message;
      configure?.(message);
    } else if (metrics !== undefined) {
      send({ type: "metrics", id: message.id, metrics: await metrics.getMetricsAsJSON() });
    }
  });
  process.on("disconnect", () => end.resolve("gone"));
  if (!process.connected) end.resolve("gone");
  return {
    serve: serve.promise,
    listen: listen.promise,
    drain: drain.promise,
    end: end.promise,
    send,
    /**
     * Sets the function that is called with changed settings. If the server has sent a change
     * before, calls the function at once with the last one.
     */
    onConfigure(change: (settings: ChangeableIngestSettings) => void) {
      configure = change;
      if (lastChange !== undefined) change(lastChange);
    },
    serveMetrics(registry: Metrics) {
      metrics = registry;
    },
  };
}
