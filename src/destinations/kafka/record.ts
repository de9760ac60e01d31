import { memberReader } from "../../json/member-reader.ts";
import type { BatchRecord } from "../../kafka/record-batch.ts";
import type { OutgoingEvent } from "../destination.ts";
import { type KafkaConfig, namesEvent, topicOf } from "./config.ts";

/**
 * Outcome of an event: true if it was written to its topic, or a sentence that says why it was
 * refused.
 */
export type SendResult = true | string;

/** A record to write to a Kafka topic, made from an event. */
export interface KafkaEventRecord extends BatchRecord {
  event: OutgoingEvent;
  topic: string;
  key: Buffer | undefined;
  /** Approximate size of the record in a batch, in bytes. */
  bytes: number;
  /** Outcome of the event; undefined while it is unknown. */
  result: SendResult | undefined;
}

/** Estimated bytes of a record in a batch, without its key, its value and its headers. */
const RECORD_BYTES = 30;
/** Estimated bytes of a header of a record, without the header's name and value. */
const HEADER_BYTES = 6;

/** Creates a function that converts an event to a Kafka record. */
export function createRecordEncoder({ topic, headers: given = [] }: KafkaConfig) {
  const hasName = namesEvent(topic);
  const membersOf = memberReader(["userId", "anonymousId", ...(hasName ? ["event", "type"] : [])]);
  const fixed = given.flatMap(({ from, to }) => [from, to]);

  // Events that are delivered together were often received in the same millisecond.
  let time = Number.NaN;
  let receivedAt = "";

  return (event: OutgoingEvent): KafkaEventRecord => {
    const { input, bytes: value } = event;
    // A value that is not JSON has no members, and is written unchanged.
    const [userId, anonymousId, eventName, type] =
      (!hasName && knownIds(event)) || membersOf(value);
    const key = textOf(userId) ?? textOf(anonymousId);
    const { messageId, type: inputType, sourceId } = input;
    if (input.receivedAt !== time) {
      time = input.receivedAt;
      receivedAt = new Date(time).toISOString();
    }
    // biome-ignore format: names and values stand in pairs
    const headers = [
      ...fixed,
      "messageId", messageId, "type", inputType, "sourceId", sourceId, "receivedAt", receivedAt,
    ];
    let size = RECORD_BYTES + value.length + (key?.length ?? 0);
    for (const text of headers) size += HEADER_BYTES / 2 + text.length;
    return {
      event,
      topic: hasName ? topicOf(topic, textOf(eventName) ?? textOf(type) ?? inputType) : topic,
      key: key === undefined ? undefined : Buffer.from(key),
      value,
      headers,
      timestamp: input.receivedAt,
      bytes: size,
      result: undefined,
    };
  };
}

/**
 * Returns `[userId, anonymousId]` if they are known without parsing the event's JSON. Otherwise
 * returns undefined: user code produced the event, or an id may be a number.
 */
function knownIds({ input: { event }, bytes }: OutgoingEvent): unknown[] | undefined {
  const isKnown = event?.json === bytes && event.hasTextIds === true;
  return isKnown ? [event.userId, event.anonymousId] : undefined;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}
