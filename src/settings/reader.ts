import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import type { TSchema } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { isValidCIDR } from "ipaddr.js";
import { cutText, orStartError, StartError } from "../errors.ts";
import { isObject } from "../is-object.ts";
import { clientVariables } from "./client-environment.ts";
import { fromCredentials, fromSecretFiles, isFileVariable } from "./files/secret-files.ts";
import { type Config, environmentName, flagName, type Key, keys, schemas } from "./keys.ts";
import { nearestName } from "./nearest-name.ts";
import { configSchema } from "./schema.ts";
import type { Setting, SettingSource } from "./setting.ts";

/**
 * Command-line flags of all settings, as argument definitions for the parser citty. Every command
 * that reads the configuration accepts them.
 */
export const configFlags = Object.fromEntries([
  [
    "config",
    { type: "string", description: "configuration file [pixelmill.toml]", valueHint: "file" },
  ],
  ...keys.map((key) => {
    const schema = schemas[key];
    const fallback =
      schema.default === undefined || schema.type === "array" ? "none" : schema.default;
    const description = `${schema.description} [${fallback}]`;
    return [flagName(key), { type: "string", description, valueHint: valueHint(schema) }];
  }),
]) as Record<string, { type: "string"; description: string; valueHint: string }>;

/** Returns the placeholder for a flag's value in the text of `--help`. */
function valueHint(schema: TSchema): string {
  if (schema.type === "integer") return "number";
  if (schema.type === "array") return "list";
  return schema.type === "boolean" ? "true|false" : "text";
}

/** Names of the flags of boolean settings. Such a flag without a value means true. */
export const booleanFlags: ReadonlySet<string> = new Set(
  keys.filter((key) => schemas[key].type === "boolean").map(flagName),
);

/** The settings in force, with the source of each value. */
export interface ReadSettings {
  config: Config;
  /**
   * Source of the value of each setting, with the setting's name in this source, such as the name
   * of an environment variable.
   */
  origins: Readonly<Record<Key, SettingOrigin>>;
}

export interface SettingOrigin {
  source: SettingSource;
  name?: string;
}

/**
 * Reads the settings from the configuration file, systemd's credentials, secret files, the
 * environment and the flags; each source overrides those before it. Throws `StartError` for an
 * unknown or invalid setting and for an unreadable file.
 */
export function readSettings(
  flags: Record<string, unknown>,
  environment: Record<string, string | undefined> = process.env,
): ReadSettings {
  const file = flags.config ?? environment.PIXELMILL_CONFIG;
  const settings = [
    ...fromFile(file === undefined ? undefined : String(file)),
    ...fromCredentials(environment),
    ...fromSecretFiles(environment),
    ...fromEnvironment(environment),
    ...fromFlags(flags),
  ];
  const config = Value.Default(configSchema, {}) as Record<string, unknown>;
  const origins = Object.fromEntries(
    keys.map((key) => [key, { source: "default" } as SettingOrigin]),
  );
  for (const setting of settings) {
    config[setting.key] = parseSetting(setting);
    origins[setting.key] = { source: setting.origin, name: setting.name };
  }
  return {
    config: Object.freeze(config) as Config,
    origins: origins as Record<Key, SettingOrigin>,
  };
}

/** Reads the settings like `readSettings`, but returns only their values, not their sources. */
export function loadConfig(
  flags: Record<string, unknown>,
  environment?: Record<string, string | undefined>,
): Config {
  return readSettings(flags, environment).config;
}

function parseSetting({ key, value, name }: Setting): unknown {
  if (!Object.hasOwn(schemas, key)) {
    throw new StartError(`Unknown setting ${name}${nearestSettingHint(key, name)}`);
  }
  const schema = schemas[key as Key];
  const meant = converted(schema, value);
  if (!Value.Check(schema, meant) || !fits(schema, meant)) {
    throw new StartError(
      `Setting ${name} must be ${expectation(schema)}${got(schema, value)}: ${schema.description}`,
    );
  }
  return meant;
}

/**
 * Returns a hint for the error message about an unknown setting: the most similar known name, as a
 * key or an environment variable like the user's. Returns an empty string if no name is similar.
 */
function nearestSettingHint(key: string, name: string): string {
  const isVariable = name.startsWith("PIXELMILL_");
  const meant = nearestName(key, isVariable ? keys.map(environmentName) : keys);
  return meant === undefined ? "" : `; the nearest is ${meant}`;
}

/**
 * Returns the part of an error message that quotes an invalid value. Returns an empty string if the
 * setting is a secret.
 */
function got(schema: TSchema, value: unknown): string {
  if (schema.writeOnly) return "";
  return `, got ${cutText(JSON.stringify(value), GOT_CHARS_MAX, "…")}`;
}
const GOT_CHARS_MAX = 101;

function converted(schema: TSchema, value: unknown): unknown {
  if (schema.type === "array") return list(value);
  if (schema.type === "integer") return wholeNumber(value);
  return Value.Convert(schema, value);
}

/**
 * Converts a string of digits to a number. Returns any other value unchanged; validation accepts it
 * only if it is a number already. TypeBox's conversion would turn `1e3` and `true` into 1, and
 * `0.9` into 0.
 */
function wholeNumber(value: unknown): unknown {
  return typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
}

function expectation(schema: TSchema): string {
  if (schema.type === "integer")
    return `a whole number from ${schema.minimum} to ${schema.maximum}`;
  if (schema.type === "boolean") return "true or false";
  if (schema.type === "array") return `a comma-separated list of ${schema.items.title}`;
  if (schema.anyOf) return `one of ${schema.anyOf.map((it: TSchema) => it.const).join(", ")}`;
  return schema.title ?? "a text that is not empty";
}

function list(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");
}

/**
 * Functions that check values in ways that the regular expression of a schema cannot. The key is
 * the `title` of the string's schema or, for a list of strings, of the schema of its items.
 */
const checks: Record<string, (text: string) => boolean> = {
  "CIDR ranges": isValidCIDR,
  "ADDRESS or ADDRESS:PORT": isServer,
  "HOST:PORT": (text) => Number(/\d+$/.exec(text)) <= 65_535,
  "a URL that begins with http:// or https://": (text) => URL.canParse(text),
};

function fits(schema: TSchema, value: unknown): boolean {
  const { title } = schema.type === "array" ? schema.items : schema;
  const check = checks[title];
  return check === undefined || [value as string | string[]].flat().every((text) => check(text));
}

function isServer(text: string): boolean {
  const [, address, port = "53"] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(text) ?? [];
  return isIP(address ?? "") !== 0 && Number(port) <= 65_535;
}

function fromFile(path: string | undefined): Setting[] {
  const chosen = path ?? "pixelmill.toml";
  if (path === undefined && !existsSync(chosen)) return [];
  const failure = `Cannot read the configuration file ${chosen}`;
  const text = orStartError(failure, () => readFileSync(chosen, "utf8"));
  const content = parseToml(text);
  if (content instanceof Error) {
    throw new StartError(`${failure}, line ${lineOfFault(text)}: ${content.message}`);
  }
  return flatten(content, "").map(([key, value]) => ({
    key,
    value,
    name: `${key} in ${chosen}`,
    origin: "file",
  }));
}

function parseToml(text: string): object {
  try {
    return Bun.TOML.parse(text);
  } catch (error) {
    return error as Error;
  }
}

/**
 * Returns the number, from 1, of the first line of the entry with the syntax error in an invalid
 * TOML text, because Bun does not report it.
 */
function lineOfFault(text: string): number {
  const lines = text.split("\n");
  const whole = lines.findLastIndex(
    (_, count) => !(parseToml(lines.slice(0, count).join("\n")) instanceof Error),
  );
  return whole + 1;
}

function flatten(table: object, prefix: string): [string, unknown][] {
  return Object.entries(table).flatMap(([name, value]) =>
    isObject(value)
      ? flatten(value, `${prefix}${name}.`)
      : [[prefix + name, value] as [string, unknown]],
  );
}

function fromEnvironment(environment: Record<string, string | undefined>): Setting[] {
  const known = new Map(keys.map((key) => [environmentName(key), key as string]));
  return Object.entries(environment)
    .filter(([name]) => name.startsWith("PIXELMILL_") && name !== "PIXELMILL_CONFIG")
    .filter(([name]) => !isFileVariable(name))
    .filter(([name]) => !clientVariables.includes(name))
    .filter(([name, value]) => !isOfService(name, value))
    .map(([name, value]) => ({
      key: known.get(name) ?? name,
      value,
      name,
      origin: "environment",
    }));
}

/**
 * Whether Kubernetes set an environment variable for a Service, so that it is no setting of
 * pixelmill. For a Service named `pixelmill`, each container of the namespace gets variables such
 * as `PIXELMILL_PORT=tcp://10.0.0.7:8080` and `PIXELMILL_SERVICE_HOST`.
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
    .map((key) => ({
      key,
      value: flags[flagName(key)],
      name: `--${flagName(key)}`,
      origin: "flag",
    }));
}

/**
 * Regular expression for the names of the environment variables that an ingest process inherits:
 * those of the dynamic loader, the system's libraries and Bun. It inherits no others, because it
 * accepts requests from the internet, and other variables may be secrets.
 */
const inherited =
  /^(PATH|HOME|TZ|LANG|LC_[A-Z]+|TMPDIR|BUN_TMPDIR|BUN_JSC_\w+|LD_PRELOAD|LD_LIBRARY_PATH|SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|MALLOC_\w+|MIMALLOC_\w+)$/;

/**
 * Returns the environment variables of this server that the ingest processes (which receive events)
 * inherit.
 */
export function ingestEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => inherited.test(name)));
}

/**
 * Returns the environment variables through which systemd passes sockets to this process and tells
 * it where to report its state.
 */
export function systemdEnvironment(): Record<string, string | undefined> {
  const { LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES, NOTIFY_SOCKET } = process.env;
  return { LISTEN_FDS, LISTEN_PID, LISTEN_FDNAMES, NOTIFY_SOCKET };
}
