import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { type Static, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { isValidCIDR } from "ipaddr.js";
import { StartError } from "./errors.ts";

/**
 * Every setting, under its one name: a key of `pixelmill.toml` (`admin.port`), an environment
 * variable (`PIXELMILL_ADMIN_PORT`) and a flag (`--admin-port`). Flags win over the environment,
 * the environment over the file. The README's table is checked against this schema by a test.
 */
export const configSchema = Type.Object({
  data: Type.String({ default: "./data", minLength: 1, description: "directory of all state" }),
  host: Type.String({
    default: "0.0.0.0",
    minLength: 1,
    description: "address of the data plane (pixels)",
  }),
  port: port(8080, "port of the data plane; 0 takes a free one"),
  "admin.host": Type.String({
    default: "127.0.0.1",
    minLength: 1,
    description: "address of the control plane (API, metrics)",
  }),
  "admin.port": port(8081, "port of the control plane; 0 takes a free one"),
  "admin.hosts": Type.Array(
    Type.String({ pattern: "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$", title: "host names" }),
    {
      default: [],
      description: "names of the control plane for browsers and scrapers, beside localhost",
    },
  ),
  "admin.token": Type.Optional(
    Type.String({
      pattern: "^pm_[A-Za-z0-9]{32,128}$",
      writeOnly: true,
      description: "admin token of the first workspace (`pm_` and 32 to 128 letters or digits)",
    }),
  ),
  "public.url": Type.Optional(
    Type.String({
      pattern: "^https?://[^ ]+$",
      description: "URL under which browsers reach the data plane, as `/v2/workspace` tells it",
    }),
  ),
  "egress.allow": cidrs("private ranges that destinations may reach all the same"),
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
  "request.ip": Type.Boolean({
    default: true,
    description: "record the client address of a pixel as `request_ip`",
  }),
  "ingest.processes": Type.Integer({
    default: 1,
    minimum: 1,
    maximum: 64,
    description: "processes that take pixels",
  }),
  "ingest.connections": Type.Integer({
    default: 1_024,
    minimum: 0,
    maximum: 1_000_000,
    description:
      "connections of one client address to a process, trusted proxies excepted; 0 is no limit",
  }),
  "ingest.rate": Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 10_000_000,
    description: "pixels per second and write key beyond which 429 is answered; 0 is no limit",
  }),
  "admin.rate": Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    description: "API requests per second and token beyond which 429 is answered; 0 is no limit",
  }),
  "api.python": Type.Union([Type.Literal("pythonfaas"), Type.Literal("python")], {
    default: "pythonfaas",
    description: "what API answers call Python code; rudder-cli's `import` needs `python`",
  }),
  "events.retention.age": Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    description:
      "seconds for which delivered events are kept for search and replay; 0 is no bound of its own",
  }),
  "events.retention.bytes": Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000_000_000,
    description:
      "bytes of the event logs up to which delivered events are kept; 0 is no bound of its own",
  }),
  "retry.window": Type.Integer({
    default: 3_600,
    minimum: 1,
    maximum: 604_800,
    description: "seconds after its arrival for which the delivery of an event is retried",
  }),
  "dead.letters.count": Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    description: "dead letters of a destination beyond which the oldest are dropped; 0 is no limit",
  }),
  "dead.letters.age": Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000_000,
    description: "seconds after which a dead letter is dropped; 0 is no limit",
  }),
  "sandbox.insecure": Type.Boolean({
    default: false,
    description: "run user code although the kernel cannot confine it",
  }),
  "sandbox.memory": Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 16_777_216,
    description: "MiB that all guests may take together; 0 is half of the memory there is",
  }),
  "sandbox.fetch.allow": cidrs("private ranges that user code's `fetch` may reach all the same"),
  "geolocation.database": Type.Optional(
    Type.String({
      minLength: 1,
      description: "MaxMind-format file behind user code's `geolocation(ip)`",
    }),
  ),
  "log.level": Type.Union(
    ["trace", "debug", "info", "warn", "error", "fatal", "silent"].map((it) => Type.Literal(it)),
    { default: "info", description: "trace, debug, info, warn, error, fatal or silent" },
  ),
});

export type Config = Readonly<Static<typeof configSchema>>;
type Key = keyof Config;

const keys = Object.keys(configSchema.properties) as Key[];
const schemas = configSchema.properties as TProperties as Record<Key, TSchema>;

export const environmentName = (key: string) =>
  `PIXELMILL_${key.replaceAll(".", "_").toUpperCase()}`;
export const flagName = (key: string) => key.replaceAll(".", "-");

/** Flags of every command that reads the configuration, in citty's form. */
export const configFlags = Object.fromEntries([
  ["config", { type: "string", description: "configuration file [pixelmill.toml]" }],
  ...keys.map((key) => {
    const schema = schemas[key];
    const fallback =
      schema.default === undefined || schema.type === "array" ? "none" : schema.default;
    const description = `${schema.description} [${fallback}]`;
    const valueHint = schema.type === "boolean" ? { valueHint: "true|false" } : {};
    return [flagName(key), { type: "string", description, ...valueHint }];
  }),
]) as Record<string, { type: "string"; description: string; valueHint?: string }>;

/** Flags of settings that are true or false: alone they mean true. */
export const switches: ReadonlySet<string> = new Set(
  keys.filter((key) => schemas[key].type === "boolean").map(flagName),
);

interface Setting {
  key: string;
  value: unknown;
  /** The setting as the user named it, for messages. */
  name: string;
}

/**
 * Reads file, environment and flags into a frozen configuration.
 * Throws a `StartError` that names the setting for an unknown key or a bad value.
 */
export function loadConfig(
  flags: Record<string, unknown>,
  environment: Record<string, string | undefined> = process.env,
): Config {
  const file = flags.config ?? environment.PIXELMILL_CONFIG;
  const settings = [
    ...fromFile(file === undefined ? undefined : String(file)),
    ...fromEnvironment(environment),
    ...fromFlags(flags),
  ];
  const config = Value.Default(configSchema, {}) as Record<string, unknown>;
  for (const setting of settings) config[setting.key] = parsed(setting);
  return Object.freeze(config) as Config;
}

/** The settings that are not at their defaults; secrets without their values. */
export function differing(config: Config): Record<string, unknown> {
  const defaults = Value.Default(configSchema, {}) as Record<string, unknown>;
  const changed = keys.filter((key) => !Bun.deepEquals(config[key], defaults[key]));
  return Object.fromEntries(
    changed.map((key) => [key, schemas[key].writeOnly ? "(set)" : config[key]]),
  );
}

function parsed({ key, value, name }: Setting): unknown {
  const schema = schemas[key as Key];
  if (!schema) throw new StartError(`Unknown setting ${name}`);
  const meant = converted(schema, value);
  if (!Value.Check(schema, meant) || !itemsFit(schema, meant)) {
    throw new StartError(`Setting ${name} must be ${expectation(schema)}: ${schema.description}`);
  }
  return meant;
}

function converted(schema: TSchema, value: unknown): unknown {
  if (schema.type === "array") return list(value);
  if (schema.type === "integer") return wholeNumber(value);
  return Value.Convert(schema, value);
}

/** Reads whole numbers strictly: TypeBox would read `1e3` and `true` as 1, and `0.9` as 0. */
function wholeNumber(value: unknown): unknown {
  return typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
}

function expectation(schema: TSchema): string {
  if (schema.type === "integer")
    return `a whole number from ${schema.minimum} to ${schema.maximum}`;
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "array") return `a comma-separated list of ${schema.items.title}`;
  if (schema.anyOf) return `one of ${schema.anyOf.map((it: TSchema) => it.const).join(", ")}`;
  return schema.pattern ? "of its documented form" : "a text that is not empty";
}

function list(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/** Checks of list items that a pattern cannot make. */
const itemFits: Record<string, (item: string) => boolean> = {
  "CIDR ranges": isValidCIDR,
  "ADDRESS or ADDRESS:PORT": isServer,
};

function itemsFit(schema: TSchema, value: unknown): boolean {
  const fits = schema.type === "array" ? itemFits[schema.items.title] : undefined;
  return fits === undefined || (value as string[]).every(fits);
}

function isServer(text: string): boolean {
  const [, address, port = "53"] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(text) ?? [];
  return isIP(address ?? "") !== 0 && Number(port) <= 65_535;
}

function fromFile(path: string | undefined): Setting[] {
  const chosen = path ?? "pixelmill.toml";
  if (path === undefined && !existsSync(chosen)) return [];
  let content: object;
  try {
    content = Bun.TOML.parse(readFileSync(chosen, "utf8"));
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new StartError(`Cannot read the configuration file ${chosen}: ${reason}`);
  }
  return flatten(content, "").map(([key, value]) => ({ key, value, name: `${key} in ${chosen}` }));
}

function flatten(table: object, prefix: string): [string, unknown][] {
  return Object.entries(table).flatMap(([name, value]) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? flatten(value, `${prefix}${name}.`)
      : [[prefix + name, value] as [string, unknown]],
  );
}

function fromEnvironment(environment: Record<string, string | undefined>): Setting[] {
  const known = new Map(keys.map((key) => [environmentName(key), key as string]));
  return Object.entries(environment)
    .filter(([name]) => name.startsWith("PIXELMILL_") && name !== "PIXELMILL_CONFIG")
    .filter(([name, value]) => !isOfService(name, value))
    .map(([name, value]) => ({ key: known.get(name) ?? name, value, name }));
}

/**
 * Whether Kubernetes set the variable: it tells every container the Services of its namespace, and
 * one called `pixelmill` or `pixelmill-admin` gives `PIXELMILL_PORT=tcp://10.0.0.7:8080`,
 * `PIXELMILL_SERVICE_HOST`, `PIXELMILL_PORT_8080_TCP_ADDR` and the like, none of which is meant as
 * a setting.
 */
function isOfService(name: string, value = ""): boolean {
  if (name.endsWith("_PORT") && /^(tcp|udp|sctp):\/\//.test(value)) return true;
  return /_(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/.test(
    name,
  );
}

function fromFlags(flags: Record<string, unknown>): Setting[] {
  return keys
    .filter((key) => flags[flagName(key)] !== undefined)
    .map((key) => ({ key, value: flags[flagName(key)], name: `--${flagName(key)}` }));
}

function port(fallback: number, description: string) {
  return Type.Integer({ default: fallback, minimum: 0, maximum: 65_535, description });
}

function cidrs(description: string) {
  return Type.Array(Type.String({ title: "CIDR ranges" }), { default: [], description });
}
