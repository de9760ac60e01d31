import { EgressRefused, networkReason, ResolutionFailed } from "../../egress/egress.ts";
import { certificateFault, cutText } from "../../errors.ts";
import type { ReceiverAnswer } from "../answers/receiver-answer.ts";

/**
 * When another attempt may succeed after a failure:
 * - `soon`: in a few seconds, when the brokers have elected a new leader
 * - `later`: after a change to the cluster, its network or the config
 * - `refused`: only after a change to the config or to the addresses that pixelmill may reach
 */
type Outlook = "soon" | "later" | "refused";

/** Host name or IP address of a broker, and its port. */
export interface BrokerAddress {
  host: string;
  port: number;
}

/** Error of a Kafka destination. The error's message is a sentence for the operator. */
export class KafkaFailure extends Error {
  override readonly name = "KafkaFailure";
  readonly outlook: Outlook;
  /** Error code and message in a broker's answer. Undefined if no answer had an error code. */
  readonly answer: ReceiverAnswer | undefined;

  constructor(outlook: Outlook, message: string, answer?: ReceiverAnswer) {
    super(message);
    this.outlook = outlook;
    this.answer = answer;
  }
}

/** Explanations of Kafka error codes for the operator. */
const meanings = new Map<number, string>([
  [3, "The topic does not exist"],
  [5, "The partition has no leader at the moment"],
  [6, "The partition has another leader"],
  [7, "The broker did not finish in time"],
  [10, "The record is larger than the topic takes"],
  [17, "The topic's name is not valid"],
  [18, "The record is larger than the topic takes"],
  [19, "Too few copies of the partition are in sync"],
  [20, "Too few copies of the partition are in sync"],
  [29, "The user may not write to the topic"],
  [31, "The user may write to no topic, nor as an idempotent producer"],
  [32, "The time of the record is out of the topic's bounds"],
  [33, "The brokers do not offer the mechanism"],
  [34, "The brokers ask for no user on this port"],
  [44, "A policy of the cluster refuses the record"],
  [56, "The broker cannot use its disk"],
  [58, "The brokers do not accept the user or the password"],
  [76, "The brokers do not take this compression"],
  [87, "The topic does not take such a record"],
  [89, "The broker asks for fewer requests"],
]);

/** Error codes with which a broker refuses a batch because of a record, for example its size. */
const ofRecords = new Set([10, 18, 32, 44, 87]);
/** Whether a broker's error code means that a batch or a record is too large. */
export function isTooLarge(code: number): boolean {
  return code === 10 || code === 18;
}

/**
 * Error codes after which the producer must ask for a new producer id (the number with which
 * brokers detect duplicates).
 */
const ofIdentity = new Set([45, 47, 49, 59, 90]);

/**
 * Error codes of requests that fail until an operator of the cluster changes permissions, a name or
 * credentials.
 */
const ofOperator = new Set([17, 29, 31, 33, 58]);

/** Returns whether and when another attempt may succeed, by the error code in a broker's answer. */
export function outlookOf(code: number): Outlook {
  return ofOperator.has(code) ? "later" : "soon";
}

/**
 * Whether an error code means that events cannot be written to a topic: its name is invalid or
 * belongs to an internal topic (code 17), or the user lacks the permission (code 29).
 */
export function isOfTopic(code: number): boolean {
  return code === 17 || code === 29;
}

type ErrorClass = "written" | "records" | "identity" | "later";

/** Returns the class of an error code. The class determines how the producer reacts. */
export function classify(code: number): ErrorClass {
  // 46 is a duplicate sequence number: an earlier request has written the batch.
  if (code === 0 || code === 46) return "written";
  if (ofRecords.has(code)) return "records";
  return ofIdentity.has(code) ? "identity" : "later";
}

/** Explains an error code in a sentence, with the topic and the broker's own message if given. */
export function sentenceOf(code: number, topic?: string, detail?: string | null): string {
  const meaning = meanings.get(code) ?? "The brokers refuse";
  const where = topic === undefined ? "" : `topic ${topic}, `;
  const said = detail ? `: ${cutText(detail, 300).replace(/\.$/, "")}` : "";
  return `${meaning}${said} (${where}error ${code})`;
}

/** Whether a sentence returned by `sentenceOf` says that a topic does not exist. */
export function isMissingTopic(sentence: string): boolean {
  return sentence.startsWith(meanings.get(3)!);
}

/** Converts any error to a `KafkaFailure`. */
export function failureOf(error: unknown): KafkaFailure {
  if (error instanceof KafkaFailure) return error;
  if (error instanceof EgressRefused) return new KafkaFailure("refused", error.message);
  if (!(error instanceof Error)) return new KafkaFailure("later", "The brokers do not answer");
  const told = codeOf(error);
  if (told !== undefined) {
    const answer = { code: String(told), body: error.message };
    return new KafkaFailure(outlookOf(told), sentenceOf(told), answer);
  }
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "") return new KafkaFailure("later", error.message);
  const isSoon = !(error instanceof ResolutionFailed) && certificateFault(code) === undefined;
  const message = networkReason(error, "The connection failed", "The broker's");
  return new KafkaFailure(isSoon ? "soon" : "later", message);
}

/** Finds the first Kafka error code in an error of the client library or its nested errors. */
export function codeOf(error: unknown): number | undefined {
  const { apiCode, errors, cause } = error as {
    apiCode?: number;
    errors?: unknown[];
    cause?: unknown;
  };
  if (typeof apiCode === "number") return apiCode;
  const inner = errors?.[0] ?? cause;
  return inner instanceof Error ? codeOf(inner) : undefined;
}

/** Converts an error to a `KafkaFailure` whose message begins with the broker's address. */
export function brokerFailure({ host, port }: BrokerAddress, error: unknown): KafkaFailure {
  const { outlook, message, answer } = failureOf(error);
  const name = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return new KafkaFailure(outlook, `Broker ${name}: ${message}`, answer);
}
