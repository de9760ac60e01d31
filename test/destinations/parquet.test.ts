import { expect, test } from "bun:test";
import { parquetMetadata } from "hyparquet";
import { parquet } from "../../src/destinations/formats/parquet.ts";
import { rowsOf } from "./formats.ts";
import { outgoing } from "./outgoing.ts";

const origin = { messageId: "made-by-the-server", receivedAt: 1_234, type: "track" };

test.each([
  [{}, {}],
  [
    { messageId: "m", type: "page", event: "E", userId: "u", anonymousId: "a" },
    { message_id: "m", type: "page", event: "E", user_id: "u", anonymous_id: "a" },
  ],
  [{ name: "N" }, { event: "N" }],
  [{ event: "E", name: "N" }, { event: "E" }],
  [
    { userId: 7, anonymousId: { a: [1] }, event: null },
    { user_id: "7", anonymous_id: '{"a":[1]}' },
  ],
  [
    { userId: "", messageId: null, type: false },
    { user_id: "", type: "false" },
  ],
])("the row of %j has its ids and names as texts", async (event, columns) => {
  const [row] = await rowsOf(await parquet([outgoing(event, origin)]));
  const known = Object.entries(row!).filter(([, value]) => value !== undefined && value !== null);
  expect(Object.fromEntries(known)).toEqual({
    ...{ message_id: "made-by-the-server", received_at: new Date(1_234), type: "track" },
    ...columns,
    payload: event,
  });
});

test("a file has a row group for each thousand events, in their order", async () => {
  const events = Array.from({ length: 2_001 }, (_, n) => outgoing({ n }, origin));
  const bytes = await parquet(events);
  const { row_groups, schema, created_by } = parquetMetadata(new Uint8Array(bytes).buffer);
  expect(row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([1_000, 1_000, 1]);
  expect((await rowsOf(bytes)).map(({ payload }) => (payload as { n: number }).n)).toEqual(
    events.map((_, n) => n),
  );
  expect(created_by).toBe("pixelmill");
  // Readers know JSON by either annotation.
  const types = schema.map((it) => [
    it.name,
    it.repetition_type,
    it.converted_type,
    it.logical_type?.type,
  ]);
  expect(types.slice(1)).toEqual([
    ["message_id", "REQUIRED", "UTF8", undefined],
    ["received_at", "REQUIRED", "TIMESTAMP_MILLIS", undefined],
    ["type", "REQUIRED", "UTF8", undefined],
    ["event", "OPTIONAL", "UTF8", undefined],
    ["user_id", "OPTIONAL", "UTF8", undefined],
    ["anonymous_id", "OPTIONAL", "UTF8", undefined],
    ["payload", "REQUIRED", "JSON", "JSON"],
  ]);
  const [ids, times, , , , , payloads] = row_groups[0]!.columns.map((it) => it.meta_data!);
  expect([ids, times, payloads].map((it) => [it!.codec, it!.statistics !== undefined])).toEqual([
    ["ZSTD", false],
    ["ZSTD", true],
    ["ZSTD", false],
  ]);
});
