import { EgressRefused, ResolutionFailed } from "../../egress/egress.ts";

/**
 * How soon another attempt may work: `soon`, when the brokers have agreed about what changed among
 * them; `later`, when somebody has mended something; `refused`: never, with these settings.
 */
export type Outlook = "soon" | "later" | "refused";

/** Where a broker is. */
export interface BrokerAddress {
  host: string;
  port: number;
}

/** Why something did not work, as a sentence for people. */
export class KafkaFailure extends Error {
  override readonly name = "KafkaFailure";
  readonly outlook: Outlook;

  constructor(outlook: Outlook, message: string) {
    super(message);
    this.outlook = outlook;
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
  [31, "The user may not write as an idempotent producer"],
  [32, "The time of the record is out of the topic's bounds"],
  [33, "The brokers do not offer the mechanism"],
  [44, "A policy of the cluster refuses the record"],
  [56, "The broker cannot use its disk"],
  [58, "The brokers do not accept the user or the password"],
  [76, "The brokers do not take this compression"],
  [87, "The topic does not take such a record"],
  [89, "The broker asks for fewer requests"],
]);

/** Errors that speak of the records of a batch. */
const ofRecords = new Set([10, 18, 32, 44, 87]);
/** Whether a code says that a batch has too many bytes. */
export function isTooLarge(code: number): boolean {
  return code === 10 || code === 18;
}

/** Errors after which the producer needs another identity: the broker does not know it any more. */
const ofIdentity = new Set([45, 47, 49, 59, 90]);

export type ErrorClass = "written" | "records" | "identity" | "later";

/** Class of an error code. */
export function classify(code: number): ErrorClass {
  // A batch that comes again is there already.
  if (code === 0 || code === 46) return "written";
  if (ofRecords.has(code)) return "records";
  return ofIdentity.has(code) ? "identity" : "later";
}

/** The meaning of a code, with the topic that it is about. */
export function sentenceOf(code: number, topic?: string, detail?: string | null): string {
  const meaning = meanings.get(code) ?? "The brokers refuse";
  const where = topic === undefined ? "" : `topic ${topic}, `;
  const said = detail ? `: ${detail.slice(0, 300).replace(/\.$/, "")}` : "";
  return `${meaning}${said} (${where}error ${code})`;
}

/** Whether a sentence is about a topic that does not exist. */
export function isMissingTopic(sentence: string): boolean {
  return sentence.startsWith(meanings.get(3)!);
}

/** Any error as a failure. */
export function failureOf(error: unknown): KafkaFailure {
  if (error instanceof KafkaFailure) return error;
  if (error instanceof EgressRefused) return new KafkaFailure("refused", error.message);
  if (!(error instanceof Error)) return new KafkaFailure("later", "The brokers do not answer");
  const told = codeOf(error);
  if (told !== undefined) return new KafkaFailure("soon", sentenceOf(told));
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (code === "" || error instanceof ResolutionFailed)
    return new KafkaFailure("later", error.message);
  return /CERT|SIGN|ALTNAME|ISSUER/.test(code)
    ? new KafkaFailure("later", `The broker's certificate is not accepted (${code})`)
    : new KafkaFailure("soon", `The connection failed (${code})`);
}

/** The first code that an answer told, wherever the library put it. */
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

/** The failure of reaching a broker, with its name: the cluster may have named it. */
export function brokerFailure({ host, port }: BrokerAddress, error: unknown): KafkaFailure {
  const { outlook, message } = failureOf(error);
  const name = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return new KafkaFailure(outlook, `Broker ${name}: ${message}`);
}
