import type { Catalog } from "../catalog/catalog.ts";
import type { ListeningSocket } from "../http/listening-socket.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Sandbox } from "../sandbox/sandbox.ts";
import type { Config } from "../settings/keys.ts";
import { startTransformer, type Transformer } from "./listener.ts";

/** Starts the listener for rudder-server, if the settings name its port. */
export function openTransformer(
  { config, logger, metrics }: { config: Config; logger: Logger; metrics: Metrics },
  parts: { catalog: Catalog; sandbox: Sandbox; socket: ListeningSocket | undefined },
): Transformer | undefined {
  const port = config["transformer.port"];
  if (port === undefined) return undefined;
  return startTransformer({
    ...parts,
    host: config["transformer.host"],
    port,
    secret: config["transformer.secret"],
    logger,
    metrics,
  });
}
