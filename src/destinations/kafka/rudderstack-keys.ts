import { Type } from "@sinclair/typebox";
import { oneOf, optionalFlag, optionalText } from "../../settings/schema-types.ts";
import { ignoredKey, uncheckedKey } from "../config-schema.ts";
import type { RudderstackKeys } from "../rudderstack-form.ts";

const mechanisms = { plain: "PLAIN", sha256: "SCRAM-SHA-256", sha512: "SCRAM-SHA-512" } as const;

/**
 * Keys of RudderStack's configs that pixelmill ignores: details of Avro, SSH tunnels and tables of
 * topics. A config that turns on one of these features, with another key, is refused (see
 * `unsupported`).
 */
const ignored = [
  ...["avroSchema", "avroSchemas", "embedAvroSchemaID", "eventTypeToTopicMap", "eventToTopicMap"],
  ...["sshHost", "sshPort", "sshUser", "sshPublicKey"],
];

/**
 * Describes how the config of a Kafka destination is written in RudderStack's keys, for
 * RudderStack's clients.
 */
export const kafkaRudderstackKeys: RudderstackKeys = {
  schemas: {
    hostName: optionalText("Brokers, with commas between", { maxLength: 1_024 }),
    port: uncheckedKey("TCP port of the brokers"),
    sslEnabled: optionalFlag("True is `tls: verify`, and false or none `off`"),
    caCertificate: uncheckedKey("As `tlsCa`"),
    useSASL: optionalFlag("Whether `username` and `password` are used"),
    saslType: Type.Optional(oneOf(["plain", "sha256", "sha512"])),
    username: uncheckedKey("As `user`"),
    convertToAvro: optionalFlag("Only false"),
    enableMultiTopic: optionalFlag("Only false"),
    useSSH: optionalFlag("Only false"),
    ...Object.fromEntries(ignored.map((key) => [key, ignoredKey()])),
  },
  names: {
    hostName: "brokers",
    sslEnabled: "tls",
    caCertificate: "tlsCa",
    username: "user",
    saslType: "mechanism",
    password: "password",
  },
  unsupported: {
    convertToAvro: "Expected false: pixelmill writes JSON",
    enableMultiTopic: "Expected false: {{event}} in topic stands for the name of the event",
    useSSH: "Expected false: pixelmill connects without SSH",
  },
  translate({ hostName, port, sslEnabled, caCertificate, useSASL, saslType, username, password }) {
    const isSasl = useSASL === true;
    return {
      brokers: typeof hostName === "string" ? brokersOf(hostName, port) : hostName,
      tls: sslEnabled === true ? "verify" : "off",
      tlsCa: (sslEnabled === true && caCertificate) || undefined,
      user: isSasl ? username : undefined,
      password: isSasl ? password : undefined,
      mechanism: isSasl ? mechanisms[(saslType ?? "plain") as keyof typeof mechanisms] : undefined,
    };
  },
};

/**
 * Returns the brokers as a list of `host:port` separated by commas. A host without a port gets
 * `port`.
 */
function brokersOf(hostName: string, port: unknown): string {
  const hosts = hostName.split(",").map((host) => host.trim());
  return hosts.map((host) => (/:\d+$/.test(host) ? host : `${host}:${port}`)).join(",");
}
