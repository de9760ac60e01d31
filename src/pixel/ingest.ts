import { openCatalog } from "../catalog/open.ts";
import { messageOf, StartError } from "../errors.ts";
import { pixelRecordCodec } from "../event/record.ts";
import { readDescriptors } from "../http/descriptors.ts";
import { HTTP_CONNECTIONS_MAX } from "../limits.ts";
import type { LogWriter } from "../log/event-log.ts";
import { openMark, storedMark } from "../log/mark.ts";
import { openLogWriter } from "../log/writer.ts";
import { createLogger, type Logger } from "../observe/log.ts";
import { createMetrics, type Metrics } from "../observe/metrics.ts";
import { INGEST_CLOSE_MS_MAX, INGEST_PULSE_MS } from "./limits.ts";
import { createPixelListener } from "./listener.ts";
import {
  type FromIngest,
  INGEST_SOCKET_FD,
  type IngestSettings,
  type ToIngest,
} from "./messages.ts";
import { watchOtherLogs } from "./other-logs.ts";
import { WrittenSources } from "./sources.ts";

/** Pause between two messages that tell the server how far the log is durable. */
const INGEST_DURABLE_MS = 5;
/** Time that an ingest process whose server died has for answers and its last flush. */
const INGEST_ORPHAN_MS_MAX = 2_000;

/**
 * The hidden command `ingest`: takes pixels into an event log of its own until the server says
 * `close`, or is gone. Returns the exit code.
 */
export async function startIngest(): Promise<number> {
  // Ctrl-C and a service's stop reach every process of the group, but the server decides when this
  // one ends. A closed terminal (SIGHUP) ends nothing.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const) {
    process.on(signal, () => {});
  }
  const server = connect();
  const settings = await Promise.race([server.serve, server.end]);
  if (typeof settings === "string") return 0;

  const metrics = createMetrics(`ingest-${settings.index}`);
  server.answerMetrics(metrics);
  const logger = createLogger(settings.logLevel).child({ ingest: settings.index });
  try {
    const opened = open(settings, server, logger, metrics);
    const close = await Promise.race([opened, server.end]);
    if (typeof close === "string") return 0;
    const waitMs = (await server.end) === "close" ? INGEST_CLOSE_MS_MAX : INGEST_ORPHAN_MS_MAX;
    const late = Bun.sleep(waitMs).then(() => "late" as const);
    return (await Promise.race([close(), late])) === "late" ? 1 : 0;
  } catch (error) {
    // A refused start has a sentence, which the server prints; any other error is a fault of ours
    // and needs its stack.
    if (!(error instanceof StartError)) {
      logger.error({ err: error }, "An ingest process could not start");
    }
    server.send({ type: "failed", message: messageOf(error) });
    return 1;
  }
}

/** Opens catalog, log and listener, and returns how to close them in reverse order. */
async function open(
  settings: IngestSettings,
  { send, listen }: Pick<ReturnType<typeof connect>, "send" | "listen">,
  logger: Logger,
  metrics: Metrics,
): Promise<() => Promise<void>> {
  const { directory, catalogDirectory, trustedProxies, recordClientAddress } = settings;
  await using opening = new AsyncDisposableStack();
  const catalog = await openCatalog({ directory: catalogDirectory, logger });
  opening.defer(() => catalog.close());

  const onChange = () => {
    mark.set(log.durable());
    tell();
  };
  const mark = openMark(directory);
  const log = await openLogWriter({
    directory,
    codec: pixelRecordCodec,
    logger,
    metrics,
    // What the mark says was durable: a log that ends below has lost records.
    first: Math.max(settings.firstSequence, storedMark(mark)),
    onMissing: (gap) => send({ type: "missing", ...gap }),
    onChange,
  });
  opening.defer(() => log.close());
  mark.set(log.durable());
  const written = new WrittenSources();
  const tell = createTell(log, written, send);

  const listener = createPixelListener({
    source: (writeKey) => catalog.live.source(writeKey),
    log: written.noting(log),
    otherLogs: watchOtherLogs(settings.otherLogs),
    trustedProxies,
    recordClientAddress,
    pixelsPerSecondMax: settings.pixelsPerSecondMax,
    connectionsMax: connectionsMax(logger),
    connectionsPerNetworkMax: settings.connectionsPerNetworkMax,
    logger,
    metrics,
  });
  send({ type: "opened", durable: log.durable() });
  await listen;
  listener.start({ fd: INGEST_SOCKET_FD, port: settings.port });
  opening.defer(() => listener.stop());

  send({ type: "listening" });
  const pulse = setInterval(() => send({ type: "pulse" }), INGEST_PULSE_MS);
  opening.defer(() => clearInterval(pulse));
  const parts = opening.move();
  return () => parts.disposeAsync();
}

/** Connections that this process may have: the limit, or fewer where it has too few descriptors. */
function connectionsMax(logger: Logger): number {
  const { max, connectionsMax } = readDescriptors();
  if (connectionsMax >= HTTP_CONNECTIONS_MAX) return HTTP_CONNECTIONS_MAX;
  logger.warn(
    { descriptors: max, connections: connectionsMax },
    `The limit of open files leaves room for fewer than ${HTTP_CONNECTIONS_MAX} connections`,
  );
  return connectionsMax;
}
/**
 * Sources that one message names; when there are more, the message names none and the server looks
 * itself.
 */
const SOURCES_TOLD_MAX = 100;

/**
 * Tells the server how far the log is durable: at once after a pause, else at most once per
 * `INGEST_DURABLE_MS`.
 */
function createTell(
  log: LogWriter<unknown>,
  written: WrittenSources,
  send: (message: FromIngest) => void,
): () => void {
  let healthy = true;
  let sequence = log.durable();
  let pause: ReturnType<typeof setTimeout> | undefined;
  const tellDurable = () => {
    pause = undefined;
    if (log.durable() === sequence) return;
    sequence = log.durable();
    const sources = written.take();
    const named = sources.size <= SOURCES_TOLD_MAX && { sources: [...sources] };
    send({ type: "durable", sequence, ...named });
    pause = setTimeout(tellDurable, INGEST_DURABLE_MS);
  };
  return () => {
    if (log.healthy() !== healthy) {
      healthy = log.healthy();
      send({ type: "health", healthy });
    }
    if (pause === undefined) tellDurable();
  };
}

/** The channel to the server: what the server asks for, and the channel's end. */
function connect() {
  const serve = Promise.withResolvers<IngestSettings>();
  const listen = Promise.withResolvers<void>();
  const end = Promise.withResolvers<"close" | "gone">();
  let metrics: Metrics | undefined;
  const send = (message: FromIngest) => {
    if (process.connected) process.send?.(message);
  };
  process.on("message", async (message: ToIngest) => {
    if (message.type === "serve") serve.resolve(message);
    else if (message.type === "listen") listen.resolve();
    else if (message.type === "close") end.resolve("close");
    else if (metrics !== undefined) {
      send({ type: "metrics", id: message.id, metrics: await metrics.getMetricsAsJSON() });
    }
  });
  process.on("disconnect", () => end.resolve("gone"));
  if (!process.connected) end.resolve("gone");
  return {
    serve: serve.promise,
    listen: listen.promise,
    end: end.promise,
    send,
    answerMetrics(registry: Metrics) {
      metrics = registry;
    },
  };
}
