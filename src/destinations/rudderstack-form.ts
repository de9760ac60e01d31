import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { Detail } from "../errors.ts";
import { configFaults } from "./config-faults.ts";
import type { ConfigForm, DestinationKind } from "./destination.ts";

type Config = Record<string, unknown>;

/** Describes how the config of a kind of destination is written in RudderStack's keys. */
export interface RudderstackKeys {
  /** RudderStack's keys with their schemas, except keys that the kind's own config has too. */
  schemas: TProperties;
  /** RudderStack's key → the key of the kind's own config that it stands for. */
  names: Readonly<Record<string, string>>;
  /**
   * RudderStack's keys of secrets that have no effect here. They are stored, but the API never
   * returns them.
   */
  unusedSecrets?: readonly string[];
  /**
   * RudderStack's keys that switch on features which this kind of destination does not have. A
   * config in which such a key is set is refused with this text.
   */
  unsupported: Readonly<Record<string, string>>;
  /**
   * Converts a config in RudderStack's keys to the kind's own keys. Values of wrong types are
   * passed on.
   */
  translate(config: Config): Config;
}

/**
 * Makes a kind of destination take configs in RudderStack's keys too. These configs are stored as
 * they were sent, and translated when they are used.
 */
export function withRudderstackKeys(kind: DestinationKind, keys: RudderstackKeys): DestinationKind {
  const own: TProperties = kind.configSchema.properties;
  const theirs = Object.values(keys.names);
  const shared = Object.entries(own).filter(([key]) => !theirs.includes(key) || key in keys.names);
  const schemas = { ...Object.fromEntries(shared.map(optional)), ...keys.schemas };
  // RudderStack's clients may send a number as a text.
  const isTheirs = (config: Config) =>
    Object.keys(config).some(
      (key) =>
        key in keys.schemas &&
        (!(key in own) || (own[key]?.type === "integer" && typeof config[key] === "string")),
    );
  const toOwn = (config: Config) =>
    isTheirs(config) ? defined({ ...pick(config, shared), ...keys.translate(config) }) : config;

  const form: ConfigForm = {
    configSchema: Type.Object(schemas),
    secretKeys: [
      ...kind.secretKeys.map(({ path, audiences }) => ({
        path: theirNameOf(keys, path),
        audiences: (config: Config) => audiences(toOwn(config)),
      })),
      ...(keys.unusedSecrets ?? []).map((path) => ({ path, audiences: () => [] })),
    ],
    validate(config) {
      const faults = configFaults(Type.Object(keys.schemas), config);
      if (faults.length > 0) return faults;
      const unsupported = Object.entries(keys.unsupported).flatMap(([key, message]): Detail[] =>
        config[key] ? [{ path: `/${key}`, message }] : [],
      );
      if (unsupported.length > 0) return unsupported;
      return kind.validate(toOwn(config)).map((fault) => {
        const [, key = "", ...rest] = fault.path.split("/");
        return { ...fault, path: ["", theirNameOf(keys, key), ...rest].join("/") };
      });
    },
  };
  const { batchLimits, endpoint } = kind;
  return {
    ...kind,
    formOf: (config) => (isTheirs(config) ? form : undefined),
    validate: (config) => (isTheirs(config) ? form.validate(config) : kind.validate(config)),
    batchSize: (config) => kind.batchSize(toOwn(config)),
    concurrency: (config) => kind.concurrency(toOwn(config)),
    ...(endpoint && { endpoint: (config: Config) => endpoint(toOwn(config)) }),
    ...(batchLimits && { batchLimits: (config: Config) => batchLimits(toOwn(config)) }),
    open: (config, workspaceId) => kind.open(toOwn(config), workspaceId),
    test: (config, workspaceId, signal) => kind.test(toOwn(config), workspaceId, signal),
  };
}

function theirNameOf({ names }: RudderstackKeys, key: string): string {
  return Object.keys(names).find((name) => names[name] === key) ?? key;
}

/**
 * Makes a setting of the kind optional in RudderStack's form. Its condition is about the kind's own
 * keys, so it is checked in the translated config.
 */
function optional([key, schema]: [string, TSchema]): [string, TSchema] {
  const { "x-applies-when": _, ...unconditional } = schema;
  return [key, Type.Optional(unconditional as TSchema)];
}

function pick(config: Config, shared: readonly [string, TSchema][]): Config {
  return Object.fromEntries(shared.map(([key]) => [key, config[key]]));
}

function defined(config: Config): Config {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}
