import type { MinuteCounters } from "../../figures/minute-counters.ts";
import { RECEIVED } from "../../figures/row.ts";
import type { ListeningSocket } from "../../http/listening-socket.ts";
import type { ChangeableIngestSettings } from "../../ingest/messages.ts";
import { type Ingest, startIngestProcesses } from "../../ingest/supervisor/supervisor.ts";
import { selfCommand } from "../../self-command.ts";
import type { Config } from "../../settings/keys.ts";
import type { Backend, StartContext } from "../backend.ts";

export interface IngestSources {
  backend: Pick<Backend, "logs" | "catalogDirectory">;
  received: MinuteCounters;
  /** Listening socket of the data plane from another process. */
  socket: ListeningSocket | undefined;
}

/** Starts the ingest processes. They take new limits and a new log level while they run. */
export async function openIngest(
  { config, settings, logger, metrics, stack }: StartContext,
  { backend, received, socket }: IngestSources,
): Promise<Ingest> {
  const { logs, catalogDirectory } = backend;
  const ingest = await startIngestProcesses({
    command: [...selfCommand, "ingest"],
    count: config["ingest.processes"],
    host: config.host,
    port: config.port,
    socket,
    trustedProxies: config["trusted.proxies"],
    recordClientAddress: config["request.ip"],
    publicUrl: config["public.url"],
    ...changeable(config),
    logs,
    catalogDirectory,
    onReceived: (sourceId, count) => received.add(sourceId, Date.now(), RECEIVED, count),
    logger,
    metrics,
  });
  settings.add({
    keys: ["ingest.rate", "ingest.connections", "log.level"],
    prepare: (next) => () => ingest.configure(changeable(next)),
  });
  stack.defer(() => ingest.stop());
  return ingest;
}

const changeable = (config: Config): ChangeableIngestSettings => ({
  pixelsPerSecondMax: config["ingest.rate"],
  connectionsPerNetworkMax: config["ingest.connections"],
  logLevel: config["log.level"],
});
