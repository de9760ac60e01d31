import { type Static, Type } from "@sinclair/typebox";
import { checkedHost, EgressRefused } from "../../egress/egress.ts";
import type { Detail } from "../../errors.ts";
import { oneOf, optionalFlag } from "../../settings/schema-types.ts";
import { configFaults, egressFaults } from "../config-faults.ts";
import { appliesWhen, essential, rudderstackKeys } from "../config-schema.ts";
import {
  certificateKeys,
  databaseKeys,
  databaseTls,
  databaseText as text,
} from "../tables/config.ts";
import type { BrokerAddress } from "./failures.ts";
import { KAFKA_HEADERS_MAX } from "./limits.ts";

/** Largest number of characters in a Kafka topic name. */
const TOPIC_CHARS_MAX = 249;
const eventPlace = "{{event}}";

const Header = Type.Object({
  from: Type.String({ minLength: 1, maxLength: 128, description: "Header name" }),
  to: Type.String({ maxLength: 4_096, description: "Header value" }),
});

export const KafkaConfig = Type.Object({
  ...rudderstackKeys,
  brokers: text(
    "Some brokers of the cluster as host:port, with commas between; they name the rest",
  ),
  topic: Type.String({
    pattern: "^(?:[A-Za-z0-9._-]|\\{\\{event\\}\\}){1,249}$",
    "x-expected": "1 to 249 letters, digits, `.`, `_`, `-` and places `{{event}}`",
    description:
      "Topic of the events; `{{event}}` in it is the event's name, or its type when it has none",
  }),
  createTopics: optionalFlag(
    "Whether the brokers are asked to make topics that are missing, as they may do",
    { default: false },
  ),
  tls: databaseTls("Whether connections are inside TLS, whose certificates are always checked"),
  user: essential(text("Name of the user; without it the connection is not authenticated")),
  password: appliesWhen({ user: "any" }, essential(text("Password of the user"))),
  mechanism: appliesWhen(
    { user: "any" },
    essential(
      oneOf(["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"], {
        default: "SCRAM-SHA-512",
        description: "SASL mechanism by which the user signs in",
      }),
    ),
  ),
  headers: Type.Optional(
    Type.Array(Header, {
      maxItems: KAFKA_HEADERS_MAX,
      description: "Headers of every record, beside those that the service sets",
    }),
  ),
  compression: Type.Optional(oneOf(["none", "gzip"], { default: "none" })),
  ...certificateKeys,
  ...databaseKeys,
});
export type KafkaConfig = Static<typeof KafkaConfig>;

/** Validates a config. Returns its faults, each with a JSON pointer to the faulty value. */
export function kafkaFaults(config: Record<string, unknown>): Detail[] {
  const faults = configFaults(KafkaConfig, config);
  if (faults.length > 0) return faults;
  const { brokers, topic, tls, user, password, mechanism, headers = [] } = config as KafkaConfig;
  const at = (path: string, message: string) => [{ path, message }];
  const isPlain = user !== undefined && mechanism === "PLAIN" && tls === "off";
  return [
    ...egressFaults("/brokers", () => addressesOf(brokers)),
    ...(topicFits(topic)
      ? []
      : at("/topic", `Expected a topic of 1 to ${TOPIC_CHARS_MAX} letters`)),
    ...(user !== undefined && password === undefined
      ? at("/password", "Expected the password of the user")
      : []),
    ...(isPlain
      ? at("/mechanism", "Expected SCRAM where TLS is off, since PLAIN sends the password")
      : []),
    ...headers.flatMap(({ from }, index) =>
      ownHeaders.has(from)
        ? at(`/headers/${index}/from`, "Expected a header that the service does not set")
        : [],
    ),
  ];
}

/** Headers that pixelmill sets on every record. A config is not allowed to set them. */
const ownHeaders = new Set(["messageId", "type", "sourceId", "receivedAt"]);

function topicFits(topic: string): boolean {
  // The name of an event has at least one letter.
  const shortest = topic.replaceAll(eventPlace, "_");
  return shortest.length <= TOPIC_CHARS_MAX && topic !== "." && topic !== "..";
}

/** Parses the brokers of a config. Throws `EgressRefused` for an item that is not host:port. */
export function addressesOf(brokers: string): BrokerAddress[] {
  return brokers.split(",").map((item) => {
    const match = /^\s*(.+):(\d{1,5})\s*$/.exec(item);
    const port = Number(match?.[2]);
    if (match === null || port < 1 || port > 65_535) {
      throw new EgressRefused("Expected host:port for each broker, with commas between");
    }
    return { host: checkedHost(match[1]!.replace(/^\[(.*)\]$/, "$1")), port };
  });
}

/**
 * Returns the topic for an event: `template` with the event's name in place of `{{event}}`. In the
 * name, characters that Kafka does not allow become `_`. A long name is shortened to fit
 * `TOPIC_CHARS_MAX`.
 */
export function topicOf(template: string, name: string): string {
  const parts = template.split(eventPlace);
  if (parts.length === 1) return template;
  const room = TOPIC_CHARS_MAX - parts.join("").length;
  const safe = name.slice(0, TOPIC_CHARS_MAX).replace(/[^A-Za-z0-9._-]+/g, "_") || "_";
  const topic = parts.join(safe.slice(0, Math.floor(room / (parts.length - 1))));
  return topic === "." || topic === ".." || topic === "" ? "_" : topic;
}

/** Whether a topic template contains `{{event}}`. */
export function namesEvent(template: string): boolean {
  return template.includes(eventPlace);
}
