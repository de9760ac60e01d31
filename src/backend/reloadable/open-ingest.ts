import type { MinuteCounters } from "../../figures/minute-counters.ts";
import { RECEIVED } from "../../figures/row.ts";
import type { ListeningSocket } from "../../http/listening-socket.ts";
import type { ChangeableIngestSettings } from "../../ingest/messages.ts";
import { type Ingest, startIngestProcesses } from "../../ingest/supervisor/supervisor.ts";
import { selfCommand } from "../../self-command.ts";
import type { Config } from "../../settings/keys.ts";
import type { Backend, StartContext } from "../backend.ts";
import type { Certificates } from "./certificates.ts";

export interface IngestSources {
  backend: Pick<Backend, "logs" | "catalogDirectory">;
  received: MinuteCounters;
  certificates: Pick<Certificates, "data">;
  /**
   * Listening socket that systemd or a previous server has passed on. If absent, a new one is
   * opened.
   */
  sockets: { "data-plane"?: ListeningSocket };
}

/**
 * Starts the ingest processes. While they run, a reload of the settings changes their limits and
 * log level, and new TLS certificates take effect.
 */
export async function openIngest(
  { config, settings, logger, metrics, stack, steps }: StartContext,
  { backend, received, certificates, sockets }: IngestSources,
): Promise<Ingest> {
  const { logs, catalogDirectory } = backend;
  const certificate = certificates.data;
  let limits = limitsOf(config);

  const ingest = await steps.run("start the ingest processes", () =>
    startIngestProcesses({
      command: [...selfCommand, "ingest"],
      count: config["ingest.processes"],
      host: config.host,
      port: config.port,
      socket: sockets["data-plane"],
      trustedProxies: config["trusted.proxies"],
      recordClientAddress: config["request.ip"],
      publicUrl: config["public.url"],
      ...limits,
      tls: certificate.keys(),
      logs,
      catalogDirectory,
      onReceived: (sourceId, count) => received.add(sourceId, Date.now(), RECEIVED, count),
      logger,
      metrics,
    }),
  );
  const configure = () => ingest.configure({ ...limits, tls: certificate.keys() });
  settings.add({
    keys: ["ingest.rate", "ingest.connections", "log.level"],
    prepare: (next) => () => {
      limits = limitsOf(next);
      configure();
    },
  });
  certificate.onChange(configure);
  stack.defer(() => ingest.stop());
  return ingest;
}

const limitsOf = (config: Config): Omit<ChangeableIngestSettings, "tls"> => ({
  eventsPerSecondMax: config["ingest.rate"],
  connectionsPerNetworkMax: config["ingest.connections"],
  logLevel: config["log.level"],
});
