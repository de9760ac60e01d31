import type { OutgoingEvent } from "../destination.ts";

/**
 * The columns of every Parquet file: what an event was when it came in, what most queries select
 * by, and all of it as JSON. One schema for good: properties of events come and go, and a reader of
 * many files wants them to agree.
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

/** Events of a row group: encoding one keeps the server from all else for about 10 ms. */
const GROUP_EVENTS = 1_000;

/** A Parquet file of these events in their order, its pages compressed with Zstandard. */
export async function parquet(events: readonly OutgoingEvent[]): Promise<Uint8Array> {
  // Loaded when first used: most servers write none.
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
  // The older mark of JSON, which some readers know alone. Had the writer seen it before, it would
  // have encoded values, and these are texts already.
  file.schema = schema.map((it) =>
    it.name === "payload" ? { ...it, converted_type: "JSON" as const } : it,
  );
  await file.finish();
  return writer.getBytes();
}

function columnsOf(events: readonly OutgoingEvent[]) {
  const parsed = events.map(({ bytes }) => objectOf(bytes));
  const texts = (key: string) => parsed.map((event) => textOf(event[key]));
  // Where all values differ, a dictionary and bounds of them would be as long as the column.
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

/** Code may make anything of an event; what is no object has no keys. */
function objectOf(bytes: Uint8Array): Record<string, unknown> {
  const value: unknown = JSON.parse(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(),
  );
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** Ids are texts for whoever joins them, also when code made numbers of them. */
function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}
