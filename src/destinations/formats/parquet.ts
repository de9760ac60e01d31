import { memberReader } from "../../json/member-reader.ts";
import type { OutgoingEvent } from "../destination.ts";

const utf8 = { type: "BYTE_ARRAY", converted_type: "UTF8" } as const;

/**
 * Schema of every Parquet file: the properties by which most queries filter, and the whole event as
 * JSON. The schema is the same for all events, because queries read many files together.
 */
const schema = [
  { name: "root", num_children: 7 },
  column("message_id", "REQUIRED", utf8),
  column("received_at", "REQUIRED", { type: "INT64", converted_type: "TIMESTAMP_MILLIS" }),
  column("type", "REQUIRED", utf8),
  column("event", "OPTIONAL", utf8),
  column("user_id", "OPTIONAL", utf8),
  column("anonymous_id", "OPTIONAL", utf8),
  column("payload", "REQUIRED", { type: "BYTE_ARRAY", logical_type: { type: "JSON" } }),
];

type Repetition = "REQUIRED" | "OPTIONAL";

function column<const Type extends object>(name: string, repetition: Repetition, type: Type) {
  return { name, repetition_type: repetition, ...type };
}

/**
 * Number of events in one row group. Encoding a row group blocks the event loop for about 10 ms.
 */
const GROUP_EVENTS = 1_000;

/** Encodes events, in their order, as a Parquet file that is compressed with Zstandard. */
export async function parquet(events: readonly OutgoingEvent[]): Promise<Uint8Array> {
  // The encoder is loaded at its first use, because most servers write no Parquet files.
  const { ByteWriter, ParquetWriter } = await import("hyparquet-writer");
  const writer = new ByteWriter();
  const file = new ParquetWriter({
    writer,
    schema,
    codec: "ZSTD",
    compressors: { ZSTD: (page: Uint8Array) => Bun.zstdCompressSync(page, { level: 1 }) },
    createdBy: "pixelmill",
  });
  for (let from = 0; from < events.length; from += GROUP_EVENTS) {
    const columnData = columnsOf(events.slice(from, from + GROUP_EVENTS));
    await file.write({ columnData, rowGroupSize: GROUP_EVENTS });
    await new Promise((resolve) => setImmediate(resolve));
  }
  // Some readers support only the older JSON annotation. It is added to the finished file, because
  // the writer would otherwise encode the texts a second time.
  file.schema = schema.map((it) =>
    it.name === "payload" ? { ...it, converted_type: "JSON" as const } : it,
  );
  await file.finish();
  return writer.getBytes();
}

const namedMembers = memberReader(["messageId", "type", "event", "name", "userId", "anonymousId"]);

/** Returns the values of the text columns for one event. */
function textsOf({ bytes, input }: OutgoingEvent) {
  const [id, type, event, name, userId, anonymousId] = namedMembers(bytes).map(textOf);
  return {
    messageId: id ?? input.messageId,
    type: type ?? input.type,
    event: event ?? name,
    userId,
    anonymousId,
  };
}

function columnsOf(events: readonly OutgoingEvent[]) {
  const rows = events.map(textsOf);
  const texts = (column: keyof (typeof rows)[number]) => rows.map((row) => row[column]);
  // When all values of a column differ, a dictionary and minimum and maximum values only make the
  // file larger.
  const plain = { encoding: "PLAIN" as const, statistics: false };
  return [
    { name: "message_id", data: texts("messageId"), ...plain },
    { name: "received_at", data: events.map(({ input }) => BigInt(input.receivedAt)) },
    { name: "type", data: texts("type") },
    { name: "event", data: texts("event") },
    { name: "user_id", data: texts("userId") },
    { name: "anonymous_id", data: texts("anonymousId") },
    { name: "payload", data: events.map(({ bytes }) => bytes), ...plain },
  ];
}

/**
 * Returns a value as text for a column: a string unchanged, null as undefined, and other values as
 * JSON, because user code may have replaced an id by a number.
 */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}
