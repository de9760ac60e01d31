import { type TProperties, type TSchema, Type } from "@sinclair/typebox";
import { defined } from "../defined.ts";
import type { Detail } from "../errors.ts";
import { configFaults } from "./config-faults.ts";
import type { ConfigForm, DestinationKind } from "./destination.ts";

type Config = Record<string, unknown>;

/** Describes how the config of a kind of destination is written with RudderStack's keys. */
export interface RudderstackKeys {
  /**
   * Schemas of RudderStack's keys that the kind's own config does not have. A key that both have is
   * included only if RudderStack's clients send values that the kind refuses, such as a port as a
   * string.
   */
  schemas: TProperties;
  /** Maps RudderStack's keys to the keys of the kind's own config that have the same meaning. */
  names: Readonly<Record<string, string>>;
  /**
   * RudderStack's keys for secrets that pixelmill stores but does not use. The API never returns
   * their values.
   */
  unusedSecrets?: readonly string[];
  /**
   * Config keys by which RudderStack turns on features that this kind of destination does not have,
   * each with an error message. A config that turns such a feature on is refused with this message.
   */
  unsupported: Readonly<Record<string, string>>;
  /**
   * Converts a config with RudderStack's keys to the kind's own keys. Values of wrong types are not
   * changed, so that validation reports them.
   */
  translate(config: Config): Config;
}

/**
 * Returns a kind of destination like `kind`, which also accepts configs with RudderStack's keys.
 * Such a config is stored as it was sent, and translated to the kind's own keys whenever it is
 * used.
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
  const translate = (config: Config) =>
    isTheirs(config) ? defined({ ...pick(config, shared), ...keys.translate(config) }) : config;
  // Delivery asks for the sizes of each event's batch, so that a config is translated once.
  const translated = new WeakMap<Config, Config>();
  const toOwn = (config: Config) => translated.getOrInsertComputed(config, translate);

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
 * Makes one of the kind's settings optional in configs with RudderStack's keys. Removes its
 * condition (`x-applies-when`) from the schema, because the condition is checked later: after the
 * config is translated to the kind's keys.
 */
function optional([key, schema]: [string, TSchema]): [string, TSchema] {
  const { "x-applies-when": _, ...unconditional } = schema;
  return [key, Type.Optional(unconditional as TSchema)];
}

function pick(config: Config, shared: readonly [string, TSchema][]): Config {
  return Object.fromEntries(shared.map(([key]) => [key, config[key]]));
}
