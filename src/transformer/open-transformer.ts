import type { Catalog } from "../catalog/catalog.ts";
import type { ListeningSocket } from "../http/listening-socket.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { FailedHandshakes } from "../observe/tls-metrics.ts";
import type { Sandbox } from "../sandbox/guest-sandbox.ts";
import type { TlsKeys } from "../settings/files/tls-files.ts";
import type { Config } from "../settings/keys.ts";
import { startTransformer, type Transformer } from "./listener.ts";

interface TransformerParts {
  catalog: Catalog;
  sandbox: Sandbox;
  /**
   * Listening socket for rudder-server that this process got from the running server or systemd, if
   * any.
   */
  sockets: { transformer?: ListeningSocket | undefined };
  /**
   * The listener's certificate and private key. `onChange` registers a function that is called
   * whenever these files have changed.
   */
  certificates: {
    transformer: { keys(): TlsKeys | undefined; onChange(use: (keys: TlsKeys) => void): void };
  };
  failedHandshakes: FailedHandshakes;
}

/** Starts the listener for rudder-server, if the settings name its port. */
export function openTransformer(
  { config, logger, metrics }: { config: Config; logger: Logger; metrics: Metrics },
  { catalog, sandbox, ...parts }: TransformerParts,
): Transformer | undefined {
  const port = config["transformer.port"];
  if (port === undefined) return undefined;
  const transformer = startTransformer({
    catalog,
    sandbox,
    socket: parts.sockets.transformer,
    host: config["transformer.host"],
    port,
    secret: config["transformer.secret"],
    tls: parts.certificates.transformer.keys(),
    logger,
    metrics,
    onFailedHandshake: () => parts.failedHandshakes.inc({ plane: "transformer" }),
  });
  parts.certificates.transformer.onChange(transformer.setTls);
  return transformer;
}
