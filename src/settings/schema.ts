import { Type } from "@sinclair/typebox";
import { backupSettings } from "./backup-settings.ts";
import { CLUSTER_PARTITIONS_MAX } from "./limits.ts";
import {
  flag,
  host,
  hostAndPort,
  httpUrl,
  integer,
  list,
  oneOf,
  optionalInteger,
  optionalText,
  secretText,
} from "./schema-types.ts";
import { signOnSettings } from "./sign-on-settings.ts";

/**
 * All settings. Each can be set as a key in `pixelmill.toml` (`admin.port`), as an environment
 * variable (`PIXELMILL_ADMIN_PORT`) or as a flag (`--admin-port`). Environment variables override
 * the file, and flags override both. docs/reference/settings.md is generated from this schema.
 */
export const configSchema = Type.Object({
  data: Type.String({ default: "./data", minLength: 1, description: "directory of all state" }),
  host: host("0.0.0.0", "address of the data plane (pixels and SDKs)"),
  port: port(8080, "port of the data plane; 0 takes a free one"),
  "admin.host": host("127.0.0.1", "address of the control plane (API, metrics)"),
  "admin.port": port(8081, "port of the control plane; 0 takes a free one"),
  "admin.hosts": list(
    "names of the control plane for browsers and scrapers, beside localhost; " +
      "with a port where a proxy listens on another one than 80 or 443",
    {
      pattern: "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*(:[1-9][0-9]{0,4})?$",
      title: "host names, with a port where a proxy listens on another one than 80 or 443",
    },
  ),
  "admin.token": optionalText(
    "admin token of the first workspace (`pm_` and 32 to 128 letters or digits)",
    {
      pattern: "^pm_[A-Za-z0-9]{32,128}$",
      title: "`pm_` and 32 to 128 letters or digits",
      writeOnly: true,
    },
  ),
  "admin.url": httpUrl(
    "URL under which people reach the console, for links in alerts and single sign-on",
  ),
  ...backupSettings,
  "transformer.host": host(
    "127.0.0.1",
    "address of the listener that runs user code for rudder-server, which sends no credentials",
  ),
  "transformer.port": optionalInteger(0, 65_535, {
    description:
      "port of that listener, 9090 as a rule; 0 takes a free one; without it there is no listener",
  }),
  "transformer.secret": secretText(
    "secret that requests to that listener must have, as a proxy or rudder-transformer sends it",
    {
      minLength: 16,
      pattern: "^[!-~]+$",
      title: "16 to 1,024 visible ASCII characters",
    },
  ),
  "public.url": httpUrl(
    "URL under which browsers reach the data plane, as `/v2/workspace` tells it",
  ),
  "egress.allow": cidrs("private ranges that destinations may reach nevertheless"),
  "egress.resolver": Type.Array(
    // An IPv4 address or an IPv6 one in brackets, and perhaps a port.
    Type.String({
      pattern: "^([0-9.]{7,15}|\\[[0-9a-fA-F:.]{2,45}\\])(:[1-9][0-9]{0,4})?$",
      title: "ADDRESS or ADDRESS:PORT",
    }),
    {
      default: [],
      description: "name servers of destinations and `fetch` instead of the system's",
    },
  ),
  "trusted.proxies": cidrs("proxies whose `X-Forwarded-For` names the client"),
  "request.ip": flag("record the client address of an event as `request_ip`", true),
  "ingest.processes": integer("processes that receive events", {
    default: 1,
    minimum: 1,
    maximum: 64,
  }),
  "ingest.connections": integer(
    "connections of one client address to a process, trusted proxies excepted; 0 is no limit",
    { reloadable: true, default: 1_024, maximum: 1_000_000 },
  ),
  "ingest.rate": integer(
    "events per second and write key beyond which 429 is answered; 0 is no limit",
    { reloadable: true, default: 0, maximum: 10_000_000 },
  ),
  "admin.rate": integer(
    "API requests per second and workspace, after a burst, beyond which 429 is answered; 0 is no limit",
    { reloadable: true, default: 200, maximum: 1_000_000 },
  ),
  "workspace.sources": itemsMax("sources", 5_000),
  "workspace.destinations": itemsMax("destinations", 5_000),
  "workspace.connections": itemsMax("connections", 10_000),
  "workspace.transformations": itemsMax("transformations", 10_000),
  "workspace.libraries": itemsMax("libraries", 5_000),
  "workspace.revisions": itemsMax("revisions of transformations and libraries", 200_000),
  "workspace.members": itemsMax("members", 2_000),
  "workspace.tokens": itemsMax("tokens", 5_000),
  "workspace.credentials": itemsMax("credentials", 1_000),
  "tls.certificate": pemFile("certificate of the data plane, and of the authorities between"),
  "tls.key": pemFile("private key of that certificate; with it the data plane speaks TLS alone"),
  "admin.tls.certificate": pemFile(
    "certificate of the control plane, and of the authorities between",
  ),
  "admin.tls.key": pemFile(
    "private key of that certificate; with it the control plane speaks TLS alone",
  ),
  "admin.tls.clients": pemFile(
    "authorities that clients' certificates must be signed by; without it none is asked for",
  ),
  "transformer.tls.certificate": pemFile(
    "certificate of the listener for rudder-server, and of the authorities between",
  ),
  "transformer.tls.key": pemFile(
    "private key of that certificate; with it that listener speaks TLS alone",
  ),
  "smtp.server": optionalText("mail server that sends alerts by email", {
    reloadable: true,
    ...hostAndPort,
  }),
  "smtp.tls": oneOf(["starttls", "implicit", "none"], {
    reloadable: true,
    default: "starttls",
    description:
      "how the connection to the mail server is encrypted: starttls, implicit (from its beginning) or none",
  }),
  "smtp.ca": optionalText(
    "PEM file of the authorities that the mail server's certificate is signed by",
    { reloadable: true },
  ),
  "smtp.user": optionalText("name to sign in to the mail server", {
    reloadable: true,
    maxLength: 320,
  }),
  "smtp.password": secretText("password to sign in to the mail server", { reloadable: true }),
  "smtp.from": optionalText("address that alerts are sent from by email", {
    reloadable: true,
    pattern: "^[^ @<>]+@[^ @<>]+$",
    title: "an email address",
    maxLength: 320,
  }),
  ...signOnSettings,
  "metrics.tenants": flag(
    "label metrics with ids and names of workspaces, destinations and code; `/metrics` needs no token",
  ),
  "api.python": oneOf(["pythonfaas", "python"], {
    default: "pythonfaas",
    description: "what API answers call Python code; rudder-cli's `import` needs `python`",
  }),
  "api.headers": oneOf(["masked", "clear"], {
    default: "masked",
    description:
      "whether API answers hide values of secret webhook headers and secret parts of URLs; Terraform needs `clear` for these",
  }),
  "events.retention.age": integer(
    "seconds for which delivered events are kept for search and replay; 0 is no bound of its own",
    { default: 0, maximum: 1_000_000_000 },
  ),
  "events.retention.bytes": integer(
    "bytes of the event logs up to which delivered events are kept; 0 is no bound of its own",
    { default: 0, maximum: 1_000_000_000_000_000 },
  ),
  "retry.window": integer(
    "seconds for which the delivery of an event is tried in vain before it is given up",
    { default: 3_600, minimum: 1, maximum: 604_800 },
  ),
  "dead.letters.count": integer(
    "dead letters of a destination beyond which the oldest are dropped; 0 is no limit",
    { default: 0, maximum: 1_000_000_000 },
  ),
  "dead.letters.age": integer("seconds after which a dead letter is dropped; 0 is no limit", {
    default: 0,
    maximum: 1_000_000_000,
  }),
  "audit.retention": integer(
    "seconds after which entries of the audit log are deleted; 0 is no limit",
    { default: 31_536_000, maximum: 1_000_000_000 },
  ),
  "sandbox.insecure": flag("run user code although the kernel cannot confine it"),
  "sandbox.memory": integer(
    "MiB that all guests may take together; 0 is half of the memory there is",
    { default: 0, maximum: 16_777_216 },
  ),
  "sandbox.fetch.allow": cidrs("private ranges that user code's `fetch` may reach nevertheless"),
  "rudderstack.definitions": optionalText(
    "checkout of RudderStack's rudder-integrations-config, which defines the types that rudder-server delivers",
  ),
  "rudderstack.namespace": optionalText(
    "namespace in which rudder-servers get the configuration of all workspaces, with a token of the first workspace",
    {
      pattern: "^[A-Za-z0-9._-]{1,128}$",
      title: "1 to 128 letters, digits, dots, underscores or hyphens",
    },
  ),
  "rudderstack.code.open": flag(
    "let whoever reaches the control plane read published code, for a rudder-transformer that has no secret",
  ),
  "geolocation.database": optionalText("MaxMind-format file behind user code's `geolocation(ip)`", {
    reloadable: true,
  }),
  "cluster.kafka": list(
    "Kafka brokers that several nodes share; without them the server is alone",
    hostAndPort,
  ),
  "cluster.name": Type.String({
    default: "pixelmill",
    pattern: "^[A-Za-z0-9_-]{1,64}$",
    title: "1 to 64 letters, digits, `_` or `-`",
    description: "prefix of the cluster's topics and name of its consumer group",
  }),
  "cluster.partitions": integer(
    "partitions of the events, among which nodes share the work; they may grow",
    { default: 12, minimum: 1, maximum: CLUSTER_PARTITIONS_MAX },
  ),
  "cluster.replicas": integer(
    "brokers that have a copy of each topic; a majority has it before an event's 200",
    { default: 3, minimum: 1, maximum: 9 },
  ),
  "cluster.session": integer(
    "seconds without a sign of life after which other nodes take a node's work",
    { default: 10, minimum: 6, maximum: 300 },
  ),
  "cluster.tls": flag("encrypt connections to brokers, which prove who they are"),
  "cluster.ca": optionalText(
    "PEM file of the authorities that brokers' certificates are signed by",
  ),
  "cluster.sasl": oneOf(["none", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], {
    default: "none",
    description: "how the server signs in to brokers: none, PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
  }),
  "cluster.user": optionalText("name to sign in to brokers with", { maxLength: 256 }),
  "cluster.password": secretText("password to sign in to brokers with"),
  "log.level": oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"], {
    reloadable: true,
    default: "info",
    description: "least level of log lines: trace, debug, info, warn, error, fatal or silent",
  }),
});

function port(fallback: number, description: string) {
  return integer(description, { default: fallback, maximum: 65_535 });
}

function itemsMax(items: string, fallback: number) {
  return integer(`${items} that a workspace may own, beyond which 409 is answered; 0 is no limit`, {
    reloadable: true,
    default: fallback,
    maximum: 100_000_000,
  });
}

function cidrs(description: string) {
  return list(description, { title: "CIDR ranges" });
}

function pemFile(content: string) {
  return optionalText(`PEM file with the ${content}`, { reloadable: "when set" });
}
