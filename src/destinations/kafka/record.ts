import type { OutgoingEvent } from "../destination.ts";
import type { KafkaConfig } from "./config.ts";
import { namesEvent, topicOf } from "./topic-name.ts";

/** A Kafka record in the form that the client library encodes. */
export interface KafkaMessage {
  topic: string;
  partition: number;
  key?: Buffer;
  value: Buffer;
  headers: Map<Buffer, Buffer>;
  timestamp: bigint;
}

export interface EventRecord {
  event: OutgoingEvent;
  message: KafkaMessage;
  /** Approximate size of the record in a batch, in bytes. */
  bytes: number;
}

/** Overhead of a record and of each header in bytes. */
const RECORD_BYTES = 30;
const HEADER_BYTES = 6;

/**
 * Creates a function that converts an event to a Kafka record. The record's `partition` is -1 until
 * the producer has chosen one.
 */
export function createRecordEncoder({ topic, headers = [] }: KafkaConfig) {
  const hasName = namesEvent(topic);
  const fixed = headers.map(({ from, to }) => [Buffer.from(from), Buffer.from(to)] as const);

  return (event: OutgoingEvent): EventRecord => {
    const { input, bytes } = event;
    const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const said = parsed(value);
    const key = textOf(said.userId) ?? textOf(said.anonymousId);
    const name = textOf(said.event) ?? textOf(said.type) ?? input.type;
    const all = new Map([
      ...fixed,
      [messageId, Buffer.from(input.messageId)],
      [type, Buffer.from(input.type)],
      [sourceId, Buffer.from(input.sourceId)],
      [receivedAt, Buffer.from(new Date(input.receivedAt).toISOString())],
    ]);
    const message: KafkaMessage = {
      topic: hasName ? topicOf(topic, name) : topic,
      partition: -1,
      ...(key !== undefined && { key: Buffer.from(key) }),
      value,
      headers: all,
      timestamp: BigInt(input.receivedAt),
    };
    let size = RECORD_BYTES + value.length + (message.key?.length ?? 0);
    for (const [name, text] of all) size += HEADER_BYTES + name.length + text.length;
    return { event, message, bytes: size };
  };
}

const messageId = Buffer.from("messageId");
const type = Buffer.from("type");
const sourceId = Buffer.from("sourceId");
const receivedAt = Buffer.from("receivedAt");

/** Parses the output of user code, which may be any text. */
function parsed(value: Buffer): Record<string, unknown> {
  let said: unknown;
  try {
    said = JSON.parse(value.toString());
  } catch {
    // A value that is not JSON is written unchanged.
  }
  return typeof said === "object" && said !== null ? (said as Record<string, unknown>) : {};
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}
