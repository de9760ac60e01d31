import { Type } from "@sinclair/typebox";
import type { Detail } from "../../errors.ts";
import { isObject } from "../../is-object.ts";
import { uncheckedKey } from "../config-schema.ts";
import type { ConfigForm, SecretAudience } from "../destination.ts";
import type { DestinationDefinition } from "./definition.ts";
import { OPAQUE_CONFIG_BYTES_MAX, OPAQUE_SECRETS_MAX } from "./limits.ts";

type Config = Record<string, unknown>;

/**
 * Settings that never determine which server receives a secret. In any type of destination, they
 * only determine which events rudder-server sends, and when.
 */
const receiverless = new Set([
  ...["blacklistedEvents", "connectionMode", "consentManagement", "eventDelivery"],
  ...["eventDeliveryTS", "eventFilteringOption", "excludeWindow", "jsonPaths"],
  ...["ketchConsentPurposes", "oneTrustCookieCategories", "preferAppend", "skipTracksTable"],
  ...["skipUsersTable", "syncFrequency", "syncStartAt", "useNativeSDK", "whitelistedEvents"],
]);

/**
 * Returns the description of the config keys of a destination that rudder-server delivers. The
 * definition tells pixelmill only which settings are secret. pixelmill stores the other settings
 * unchanged.
 */
export function opaqueForm({ config: { secretKeys = [] } }: DestinationDefinition): ConfigForm {
  const paths = [...new Set(secretKeys.map(secretPath))];
  const holders = new Set(paths.map(keyOf));
  const audiences = (config: Config) => [othersAsAudience(config, holders)];
  return {
    configSchema: Type.Object(
      Object.fromEntries([...holders].map((key) => [key, schemaOf(paths, key)])),
      { additionalProperties: true },
    ),
    secretKeys: paths.map((path) => ({ path, audiences })),
    validate: (config) => faultsOf(config, holders, paths),
  };
}

/**
 * Converts a path in `secretKeys` of a definition to one that pixelmill supports. A path of more
 * than two keys becomes its first key, whose whole value is then secret.
 */
function secretPath(path: string): string {
  return path.split(".").length <= 2 ? path : keyOf(path);
}

function keyOf(path: string): string {
  return path.split(".", 1)[0] ?? path;
}

function schemaOf(paths: readonly string[], key: string) {
  // A text has a field of its own in the console's form. `validate` allows other values too.
  if (paths.includes(key)) return Type.Optional(Type.String());
  return uncheckedKey("Some keys of its items are secret, and answered as empty texts");
}

function faultsOf(
  config: Config,
  holders: ReadonlySet<string>,
  paths: readonly string[],
): Detail[] {
  if (Buffer.byteLength(JSON.stringify(config)) > OPAQUE_CONFIG_BYTES_MAX) {
    return [{ path: "", message: `Expected at most ${OPAQUE_CONFIG_BYTES_MAX} bytes, got more` }];
  }
  return [...holders].flatMap((key) => {
    const value = config[key];
    if (!Array.isArray(value)) return [];
    if (value.length > OPAQUE_SECRETS_MAX) {
      return [
        { path: `/${key}`, message: `Expected at most ${OPAQUE_SECRETS_MAX} items, got more` },
      ];
    }
    if (paths.includes(key) || value.every(isObject)) return [];
    return [{ path: `/${key}`, message: "Expected objects as items, got another value" }];
  });
}

/**
 * Returns the receiver of all secrets of a config, identified by all settings except `holders`
 * (settings with secrets) and `receiverless`. A change of any identifying setting counts as another
 * receiver, because the setting may name a server.
 */
function othersAsAudience(config: Config, holders: ReadonlySet<string>): SecretAudience {
  const others = Object.entries(config)
    .filter(([key]) => !holders.has(key) && !receiverless.has(key))
    .sort(([one], [other]) => (one < other ? -1 : 1));
  const host = "the other settings as they were stored";
  return { host, isTls: false, use: JSON.stringify(others) };
}
