import type { OutgoingEvent } from "../destination.ts";

/**
 * The schema of every Parquet file: properties of an event, which most queries filter by, and the
 * whole event as JSON. Queries over many files need the same schema in all of them, so it does not
 * depend on the members of the events.
 */
const schema = [
  { name: "root", num_children: 7 },
  text("message_id", "REQUIRED"),
  column("received_at", "REQUIRED", { type: "INT64", converted_type: "TIMESTAMP_MILLIS" }),
  text("type", "REQUIRED"),
  text("event", "OPTIONAL"),
  text("user_id", "OPTIONAL"),
  text("anonymous_id", "OPTIONAL"),
  column("payload", "REQUIRED", { type: "BYTE_ARRAY", logical_type: { type: "JSON" } }),
];

type Repetition = "REQUIRED" | "OPTIONAL";

function column<const Type extends object>(name: string, repetition: Repetition, type: Type) {
  return { name, repetition_type: repetition, ...type };
}

function text(name: string, repetition: Repetition) {
  return column(name, repetition, { type: "BYTE_ARRAY", converted_type: "UTF8" });
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

function columnsOf(events: readonly OutgoingEvent[]) {
  const parsed = events.map(({ bytes }) => objectOf(bytes));
  const texts = (key: string) => parsed.map((event) => textOf(event[key]));
  // When all values of a column differ, a dictionary and minimum and maximum values only make the
  // file larger.
  const plain = { encoding: "PLAIN" as const, statistics: false };
  const ids = events.map(({ input }, at) => textOf(parsed[at]!.messageId) ?? input.messageId);
  return [
    { name: "message_id", data: ids, ...plain },
    { name: "received_at", data: events.map(({ input }) => BigInt(input.receivedAt)) },
    { name: "type", data: events.map(({ input }, at) => textOf(parsed[at]!.type) ?? input.type) },
    { name: "event", data: parsed.map(({ event, name }) => textOf(event) ?? textOf(name)) },
    { name: "user_id", data: texts("userId") },
    { name: "anonymous_id", data: texts("anonymousId") },
    { name: "payload", data: events.map(({ bytes }) => bytes), ...plain },
  ];
}

/**
 * Parses the JSON text of an event. Returns an empty object when user code returned a value that is
 * no object.
 */
function objectOf(bytes: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(),
  );
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/**
 * Converts a value to a string for a text column. User code may have made an id a number, and joins
 * on the id need strings in all rows.
 */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}
