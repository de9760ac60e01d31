import { StartError } from "../errors.ts";
import type { BrokerSettings } from "../kafka/client.ts";
import { readSmallFile } from "../settings/files/small-file.ts";
import type { Config } from "../settings/keys.ts";
import { TLS_FILE_BYTES_MAX } from "../settings/limits.ts";

/**
 * Returns the addresses, TLS settings and credentials for connections to the Kafka brokers. Throws
 * `StartError` when the server's settings contradict each other or the file of `cluster.ca` cannot
 * be read.
 */
export function brokerSettings(config: Config): BrokerSettings {
  const tls = tlsOf(config);
  const sasl = saslOf(config);
  return { brokers: config["cluster.kafka"], ...(tls && { tls }), ...(sasl && { sasl }) };
}

function tlsOf(config: Config): BrokerSettings["tls"] {
  const path = config["cluster.ca"];
  if (!config["cluster.tls"]) {
    if (path !== undefined) throw new StartError("Setting cluster.ca needs cluster.tls");
    return undefined;
  }
  return path === undefined ? {} : { ca: readSmallFile("cluster.ca", path, TLS_FILE_BYTES_MAX) };
}

function saslOf(config: Config): BrokerSettings["sasl"] {
  const mechanism = config["cluster.sasl"];
  const user = config["cluster.user"];
  const password = config["cluster.password"];
  if (mechanism === "none") {
    if (user === undefined && password === undefined) return undefined;
    throw new StartError("Settings cluster.user and cluster.password need cluster.sasl");
  }
  if (user === undefined || password === undefined) {
    throw new StartError(`Setting cluster.sasl needs cluster.user and cluster.password`);
  }
  return { mechanism, user, password };
}
