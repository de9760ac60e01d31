import { Type } from "@sinclair/typebox";
import { oneOf, optionalFlag } from "../../settings/schema-types.ts";
import { ignoredKey, uncheckedKey } from "../config-schema.ts";
import type { RudderstackKeys } from "../rudderstack-form.ts";

/**
 * Keys in configs of RudderStack's warehouses that pixelmill accepts and ignores: they configure
 * staging files, schedules, rules for tables, and SSH tunnels.
 */
const ignored = [
  ...["syncFrequency", "syncStartAt", "excludeWindow", "jsonPaths", "useRudderStorage"],
  ...["bucketProvider", "bucketName", "containerName", "roleBasedAuth", "iamRoleARN"],
  ...["accountName", "useSASTokens", "endPoint", "useSSL", "cleanupObjectStorageFiles"],
  ...["skipTracksTable", "skipUsersTable", "preferAppend", "allowUsersContextTraits"],
  ...["underscoreDivideNumbers", "sshHost", "sshPort", "sshUser", "sshPublicKey"],
];
/** RudderStack's config keys for secrets of staging files. pixelmill uses no staging files. */
const unusedSecrets = [
  ...["accessKeyID", "accessKey", "accountKey", "sasToken", "secretAccessKey", "credentials"],
];

/**
 * Describes how the config of a PostgreSQL destination is written in RudderStack's keys, for
 * RudderStack's clients.
 */
export const postgresRudderstackKeys: RudderstackKeys = {
  schemas: {
    port: uncheckedKey("TCP port, as a text or a number"),
    namespace: uncheckedKey("As `schema`"),
    sslMode: Type.Optional(
      oneOf(["disable", "require", "verify-ca"], {
        description: "`disable` is `tls: off`; both others are `verify`",
      }),
    ),
    serverCA: uncheckedKey("As `tlsCa`"),
    clientKey: ignoredKey(),
    clientCert: ignoredKey(),
    useSSH: optionalFlag("Only false"),
    ...Object.fromEntries([...ignored, ...unusedSecrets].map((key) => [key, ignoredKey()])),
  },
  names: { port: "port", namespace: "schema", sslMode: "tls", serverCA: "tlsCa" },
  unusedSecrets: [...unusedSecrets, "clientKey"],
  unsupported: {
    useSSH: "Expected false: pixelmill connects without SSH",
    clientCert: "Expected none: pixelmill signs in with a password, not with a certificate",
  },
  translate: ({ port, namespace, sslMode, serverCA }) => ({
    port: typeof port === "string" && /^\d{1,5}$/.test(port) ? Number(port) : port,
    schema: namespace || undefined,
    tls: sslMode === undefined ? undefined : sslMode === "disable" ? "off" : "verify",
    tlsCa: (sslMode !== "disable" && serverCA) || undefined,
  }),
};
