import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  cleanJson,
  commonType,
  fit,
  JsonText,
  putRest,
  type TableColumn,
  typeOf,
} from "../../../src/destinations/tables/column-values.ts";
import { NoRowError, rawRow, rowsOf } from "../../../src/destinations/tables/event-rows.ts";
import {
  MESSAGE_ID_BYTES_MAX,
  TABLE_COLUMNS_MAX,
  TABLE_LEVELS_MAX,
} from "../../../src/destinations/tables/limits.ts";
import { merged } from "../../../src/destinations/tables/table-database.ts";
import {
  missingColumns,
  recordOf,
  type TableColumns,
  type TableRecord,
  wholeRecord,
} from "../../../src/destinations/tables/table-records.ts";
import {
  restColumn,
  snake,
  WarehouseNames,
} from "../../../src/destinations/tables/warehouse-names.ts";
import { outgoing } from "../outgoing.ts";

const names = new WarehouseNames({ charsMax: 63, escapesWords: true });
const input = { messageId: "input", receivedAt: Date.parse("2026-01-01T00:00:00Z") };
const raw = (value: unknown) => rawRow(outgoing(value, input), 0, "events");
const rows = (value: unknown) => rowsOf(outgoing(value, input), 0, names, () => false);

describe("rows of users", () => {
  const identify = (over: object) => ({
    ...{ type: "identify", messageId: "m1", userId: "u1", anonymousId: "a1", channel: "web" },
    ...over,
  });
  const rowsWithUser = (value: unknown) =>
    rowsOf(outgoing(value, input), 0, names, (table) => table === "users");

  test("are two for two users whose ids are integers beyond 2^53", () => {
    const ids = ["9007199254740992", "9007199254740993"];
    const json = (id: string) => `{"type":"identify","userId":${id},"anonymousId":${id}}`;
    const cells = ids.map((id) => {
      const event = { ...outgoing({}, input), bytes: Buffer.from(json(id)) };
      const [row, user] = rowsOf(event, 0, names, (table) => table === "users");
      return [row!.cells.user_id, row!.cells.anonymous_id, user!.cells.id];
    });
    expect(cells).toEqual(ids.map((id) => [id, id, id]));
  });

  test("have the user's id, and traits of the event and of its context", () => {
    const context = { traits: { plan: "pro", city: "Bonn" }, locale: "de" };
    const [event, user, ...more] = rowsWithUser(identify({ traits: { plan: "pro" }, context }));
    expect(more).toEqual([]);
    expect(event!.cells).toMatchObject({ id: "m1", user_id: "u1", plan: "pro", city: "Bonn" });
    expect({ ...user!.cells }).toEqual({
      ...{ id: "u1", received_at: "2026-01-01T00:00:00.000Z", plan: "pro", city: "Bonn" },
      ...{ context_locale: "de", context_traits_plan: "pro", context_traits_city: "Bonn" },
    });
    expect([user!.table, user!.isOwnOnly]).toEqual(["users", true]);
  });

  test("are made of identify events with a usable userId alone", () => {
    expect(rowsWithUser(identify({ userId: "" }))).toHaveLength(1);
    expect(rowsWithUser(identify({ userId: ["u"] }))).toHaveLength(1);
    expect(rowsWithUser(identify({ userId: "\0" }))).toHaveLength(1);
    expect(rowsWithUser(identify({ userId: "u".repeat(MESSAGE_ID_BYTES_MAX + 1) }))).toHaveLength(
      1,
    );
    expect(rowsWithUser(identify({ userId: 5 }))[1]!.cells.id).toBe("5");
    expect(rowsWithUser(identify({ type: "group", groupId: "g" }))).toHaveLength(1);
    expect(rows(identify({}))).toHaveLength(1);
  });
});

test("of several records of a user, the one received last counts, in any order", () => {
  const at = (minute: number, more: TableRecord) => ({
    ...{ id: "u1", received_at: `2026-01-01T00:0${minute}:00.000Z` },
    ...more,
  });
  const records = [at(2, { plan: "pro" }), at(1, { plan: "free", city: "Bonn" }), { id: "u0" }];
  const load = { table: "users", columns: new Map(), records };
  expect(merged(load).records).toEqual([{ id: "u0" }, at(2, { plan: "pro", city: "Bonn" })]);
  records.reverse();
  expect(merged(load).records).toEqual([{ id: "u0" }, at(2, { plan: "pro", city: "Bonn" })]);
  const times = ["2026-01-01T00:00:00.123456Z", "2026-01-01T00:00:00.123Z"];
  const close = times.map((time) => ({ id: "u1", received_at: time }));
  for (const records of [close, close.toReversed()]) {
    expect(merged({ ...load, records }).records).toEqual([close[0]!]);
  }
});

describe("names", () => {
  // From the comments and tests of RudderStack's own warehouse.
  test.each([
    ["omega", "omega"],
    ["omega v2 ", "omega_v_2"],
    ["9mega", "_9_mega"],
    ["mega&", "mega"],
    ["ome$ga", "ome_ga"],
    ["ome_ ga", "ome_ga"],
    ["9mega________-________90", "_9_mega_90"],
    ["Cízǔ", "c_z"],
    ["CamelCase123Key", "camel_case_123_key"],
    ["1CComega", "_1_c_comega"],
    ["path to $1,00,000", "path_to_1_00_000"],
    ["_timestamp", "_timestamp"],
    ["__timestamp", "__timestamp"],
    ["&4yasdfa(84224_fs9##_____*3q", "_4_yasdfa_84224_fs_9_3_q"],
    ["HTTPClient", "http_client"],
    ["日本", ""],
    ["!!!", ""],
    ["", ""],
  ])("%p becomes %p", (key, name) => expect(snake(key)).toBe(name));

  test("reserved words and names of fixed tables get an underscore", () => {
    expect(names.column("Select")).toBe("_select");
    expect(names.table("Tracks")).toBe("_tracks");
    expect(names.table("user")).toBe("_user");
    expect(new WarehouseNames({ charsMax: 127, escapesWords: false }).column("select")).toBe(
      "select",
    );
  });

  test("of any keys are short enough, and never equal that of a text column", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (key) => {
        const name = names.column(key);
        expect(name).toMatch(/^$|^_*[a-z0-9]+(_[a-z0-9]+)*$/);
        expect(name.length).toBeLessThanOrEqual(63);
        expect(names.textColumn(name).length).toBeLessThanOrEqual(63);
        expect(names.textColumn(name)).toMatch(/__text$/);
      }),
      { numRuns: 500 },
    );
  });

  test("of long keys that begin alike differ, also those of text columns", () => {
    const keys = ["x", "y", "z"].map((end) => "a".repeat(2_000) + end);
    const all = keys.map((key) => names.column(key));
    expect(new Set(all).size).toBe(3);
    expect(new Set(all.map((name) => names.textColumn(name))).size).toBe(3);
  });
});

describe("values", () => {
  test.each([
    [1, "int"],
    [-0, "int"],
    [1.5, "float"],
    [2 ** 53, "float"],
    [1e300, "float"],
    [true, "boolean"],
    ["", "string"],
    ["2026-01-02", "datetime"],
    ["2026-01-02T03:04:05.678Z", "datetime"],
    ["2026-01-02 03:04:05+02:00", "datetime"],
    ["0000-01-01", "string"],
    ["2026-02-30", "string"],
    ["2024-02-29", "datetime"],
    ["2026-13-01", "string"],
    ["2026-01-02T25:00:00Z", "string"],
    ["2026", "string"],
    ["20260102", "string"],
    [[1], "string"],
  ] as const)("%p makes a column of type %s", (value, type) => expect(typeOf(value)).toBe(type));

  const column = (type: TableColumn["type"], over: Partial<TableColumn> = {}): TableColumn => ({
    type,
    sqlType: type,
    ...over,
  });
  test.each([
    [5, column("string"), "5"],
    [{ a: [1] }, column("string"), '{"a":[1]}'],
    [["a\0b", "\ud800"], column("string"), '["ab","\ufffd"]'],
    ["a\0b\ud800", column("string"), "ab\ufffd"],
    ["🙂🙂", column("string", { charsMax: 2 }), "🙂🙂"],
    ["🙂🙂🙂", column("string", { charsMax: 2 }), undefined],
    [5, column("int"), 5],
    [5.5, column("int"), undefined],
    ["5", column("int"), undefined],
    [2 ** 63, column("int"), undefined],
    [-(2 ** 63), column("int"), undefined],
    [300, column("int", { range: [0, 255] }), undefined],
    [255, column("int", { range: [0, 255] }), 255],
    [256, column("int", { range: [0, 255] }), undefined],
    [0, column("int", { range: [0, 255] }), 0],
    [-1, column("int", { range: [0, 255] }), undefined],
    [true, column("string"), "true"],
    [1e21, column("string"), "1e+21"],
    [Number.POSITIVE_INFINITY, column("string"), "Infinity"],
    [5, column("float"), 5],
    ["5.5", column("float"), undefined],
    [1, column("boolean"), undefined],
    ["2026-01-02", column("datetime"), "2026-01-02T00:00:00.000Z"],
    ["2200-01-02", column("datetime", { range: [0, 2 ** 32 * 1_000] }), undefined],
    [5, column("datetime"), undefined],
    ["a\0\\u0000", column("json"), '"a\\\\u0000"'],
    [1, column("other"), undefined],
  ] as const)("%p into a column", (value, there, cell) =>
    expect(fit(value, there)).toBe(cell as never),
  );

  test("an integer fits a 64-bit column if its text in JSON does", () => {
    fc.assert(
      fc.property(
        fc.double({ noNaN: true, noDefaultInfinity: true, min: -(2 ** 65) }),
        (double) => {
          const integer = Math.trunc(double);
          const cell = fit(integer, column("int"));
          const written = Math.abs(integer) < 1e21 ? BigInt(JSON.stringify(integer)) : 2n ** 64n;
          expect(cell !== undefined).toBe(BigInt.asIntN(64, written) === written);
        },
      ),
      { examples: [[-(2 ** 63)], [2 ** 63], [2 ** 63 - 1_024], [-(2 ** 63) + 1_024]] },
    );
  });

  test.each([
    ["2026-02-16T10:00:00", "2026-02-16T10:00:00.000Z"],
    ["2026-02-16 10:00", "2026-02-16T10:00:00.000Z"],
    ["2026-02-16", "2026-02-16T00:00:00.000Z"],
    ["+2026-02-16", "2026-02-16T00:00:00.000Z"],
    ["2026-02-16T10:00:00+05:30", "2026-02-16T04:30:00.000Z"],
    ["2026-02-16T10:00:00-0330", "2026-02-16T13:30:00.000Z"],
    ["2026-02-16T10:00:00+02", "2026-02-16T08:00:00.000Z"],
    ["2026-02-16T10:00Z", "2026-02-16T10:00:00.000Z"],
    ["2026-02-16T10:00:00.1z", "2026-02-16T10:00:00.100Z"],
    ["2026-02-16T10:00:00.123456789Z", "2026-02-16T10:00:00.123456Z"],
    ["1969-12-31T23:59:59.999999Z", "1969-12-31T23:59:59.999999Z"],
    ["0001-01-01T00:00:00", "0001-01-01T00:00:00.000Z"],
    ["0001-01-01T00:00:00+01:00", undefined],
    ["9999-12-31T23:59:59-01:00", undefined],
    ["-0001-01-01", undefined],
    ["-2026-01-01", undefined],
    ["2026-01-01T", undefined],
    ["2026-02-28T10:00:00.000Z", "2026-02-28T10:00:00.000Z"],
    ["2026-12-31T10:00:00.000Z", "2026-12-31T10:00:00.000Z"],
    ["2026-02-29T10:00:00.000Z", undefined],
    ["2026-13-01T10:00:00.000Z", undefined],
    ["2026-01-00T10:00:00.000Z", undefined],
    ["2026-01-01T24:00:00.000Z", undefined],
    ["2026-01-01T10:60:00.000Z", undefined],
    ["0000-01-01T10:00:00.000Z", undefined],
    ["2023-02-29", undefined],
    ["2026-04-31T10:00:00Z", undefined],
  ])("%p is the time %p, whatever the zone of the server", (text, time) => {
    const zone = process.env.TZ;
    process.env.TZ = "America/New_York";
    try {
      expect(fit(text, column("datetime"))).toBe(time);
      expect(typeOf(text)).toBe(time === undefined ? "string" : "datetime");
    } finally {
      process.env.TZ = zone ?? "UTC";
    }
  });

  test.each([
    [1e-46, { isSingle: true }, undefined],
    [1e-45, { isSingle: true }, 1e-45],
    [3.5e38, { isSingle: true }, undefined],
    [0, { isSingle: true }, 0],
    [1e-46, {}, 1e-46],
    [Number.POSITIVE_INFINITY, {}, undefined],
  ])("%p into a column of floating point with %p", (value, over, cell) =>
    expect(fit(value, column("float", over))).toBe(cell),
  );

  test("JSON text loses NUL and lone surrogates, and keeps its meaning", () => {
    const json = JSON.stringify(["\0", "\\u0000", "\ud800", "\\ud800", "🙂", '"\\']);
    expect(JSON.parse(cleanJson(json))).toEqual(["", "\\u0000", "\ufffd", "\\ud800", "🙂", '"\\']);
  });
});

test("values of two types share a column of the type that stores both", () => {
  const types = ["string", "int", "float", "boolean", "datetime", "json"] as const;
  const numbers: readonly string[] = ["int", "float"];
  for (const a of types) {
    for (const b of types) {
      const isOfNumbers = numbers.includes(a) && numbers.includes(b);
      expect([a, b, commonType(a, b)]).toEqual([
        a,
        b,
        a === b ? a : isOfNumbers ? "float" : "string",
      ]);
    }
  }
});

test("columns of the service have their types, whatever their first values are", () => {
  const strings = ["id", "anonymous_id", "user_id", "event", "event_text", "name", "channel"];
  const types = {
    ...Object.fromEntries([...strings, "message_id", "type"].map((name) => [name, "string"])),
    ...Object.fromEntries(
      ["received_at", "sent_at", "timestamp", "original_timestamp"].map((name) => [
        name,
        "datetime",
      ]),
    ),
    payload: "json",
    other: "boolean",
  };
  const cells = Object.fromEntries(Object.keys(types).map((name) => [name, true]));
  const row = { ...{ table: "t", isOwnOnly: false, index: 0, cells, rest: {} }, size: 0 };
  const found = Object.fromEntries(missingColumns([row], new Map(), names));
  expect(found).toMatchObject(types);
});

describe("rows", () => {
  const common = { messageId: "m1", anonymousId: "a1", userId: "u1", sentAt: "s", channel: "web" };
  const times = { timestamp: "t", originalTimestamp: "o", receivedAt: "r" };
  const context = { ip: "192.0.2.1", locale: "de" };
  const event = { ...common, ...times, request_ip: "192.0.2.2", context, name: "own" };
  const cells = {
    ...{ id: "m1", anonymous_id: "a1", user_id: "u1", sent_at: "s", channel: "web" },
    ...{ timestamp: "t", original_timestamp: "o", received_at: "r", context_locale: "de" },
    context_ip: "192.0.2.1",
    context_passed_ip: "192.0.2.1",
    context_request_ip: "192.0.2.2",
  };
  test.each([
    [
      "track",
      "tracks",
      { event: "Paid", properties: { sum: 1 } },
      { event_text: "Paid", event: "paid", sum: 1 },
    ],
    ["track", "tracks", { event: "", properties: { sum: 0 } }, { sum: 0 }],
    ["track", "tracks", { event: 7, properties: { id: 1, event: 2 } }, { event_text: 7 }],
    ["page", "pages", { properties: { name: "of properties" } }, { name: "own" }],
    ["page", "pages", { name: null, properties: { name: "given" } }, { name: "given" }],
    ["screen", "screens", { properties: { deep: { a: true } } }, { name: "own", deep_a: true }],
    ["screen", "screens", { name: undefined, properties: { name: "given" } }, { name: "given" }],
    ["identify", "identifies", { traits: { plan: "pro" } }, { plan: "pro" }],
    ["group", "groups", { groupId: "g", traits: { plan: [1] } }, { group_id: "g", plan: [1] }],
    ["alias", "aliases", { previousId: "p", traits: { no: "" } }, { previous_id: "p" }],
  ])("of a %s have its columns in %s (%j)", (type, table, more, columns) => {
    const [row, ...others] = rows({ type, ...event, ...more });
    expect(others).toEqual([]);
    expect(row).toMatchObject({ table, isOwnOnly: false, index: 0 });
    expect({ ...row!.cells }).toEqual({ ...cells, ...columns });
    expect(row!.size).toBe(Object.keys(row!.cells).length);
  });

  test("of a track that has a table of its own hold the properties there alone", () => {
    const track = {
      type: "track",
      ...event,
      event: "Paid",
      properties: { sum: 1, anonymous_id: 2 },
    };
    const [row, own] = rowsOf(outgoing(track, input), 3, names, (table) => table === "paid");
    const head = { ...cells, event_text: "Paid", event: "paid" };
    expect({ ...row!.cells }).toEqual(head);
    expect({ ...row!.rest }).toEqual({});
    expect(own).toMatchObject({ table: "paid", isOwnOnly: true, index: 3 });
    expect({ ...own!.cells }).toEqual({ ...head, sum: 1 });
    expect({ ...own!.rest }).toEqual({ anonymous_id: 2 });
  });

  test("have the addresses and times that the server saw where an event has none", () => {
    const [row] = rows({ type: "alias", messageId: "m", request_ip: "192.0.2.2", context: null });
    expect({ ...row!.cells }).toEqual({
      ...{ id: "m", context_ip: "192.0.2.2", context_request_ip: "192.0.2.2" },
      received_at: "2026-01-01T00:00:00.000Z",
    });
  });

  test("keep values of keys that give the same column beside it, numbered", () => {
    const properties = { "a b": 1, aB: 2, a_b: 3, a: { b: 4 }, "": 5, same: { x: 1 }, same_x: 1 };
    const [row] = rows({ type: "page", messageId: "m", properties });
    expect(row!.cells).toMatchObject({ a_b: 1, same_x: 1 });
    expect(Object.values(row!.rest)).toEqual([2, 3, 4, 5]);
    const rest = {};
    for (const value of [1, 2, 3]) putRest(rest, "a", value);
    expect(rest).toEqual({ a: 1, a__2: 2, a__3: 3 });
  });

  test("number values of one path by few reads of those before", () => {
    const kept: Record<string, unknown> = Object.create(null);
    let reads = 0;
    const get = (_: unknown, path: string) => {
      reads += 1;
      return kept[path];
    };
    const rest = new Proxy(kept, { get }) as Record<string, unknown>;
    for (let n = 1; n <= 1_000; n++) putRest(rest, "a", n);
    expect(reads).toBeLessThan(5_000);
    expect([kept.a, kept.a__2, kept.a__1000]).toEqual([1, 2, 1_000]);
  });

  test("do not repeat a long key for each value below it", () => {
    const numbers = Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`n${n}`, n + 0.5]));
    const properties = { ["k".repeat(50_000)]: { x: numbers } };
    const [row] = rows({ type: "page", messageId: "m", properties });
    const kept = [...Object.values(row!.cells), ...Object.values(row!.rest)];
    expect(kept).toEqual(expect.arrayContaining(Object.values(numbers)));
    const paths = Object.keys(row!.rest);
    expect(paths.length).toBeGreaterThan(100);
    expect(Math.max(...paths.map(({ length }) => length))).toBe(1_089);
  });

  test("are refused when keys around values without a column take many times the event's bytes", () => {
    const below = (key: string, count: number) => {
      const numbers = Object.fromEntries(Array.from({ length: count }, (_, n) => [n, 0]));
      return { type: "page", messageId: "m", properties: { [key]: numbers } };
    };
    const paths = Object.keys(rows(below("a key of usual length", 5_000))[0]!.rest);
    expect(paths).toContain("a key of usual length_4999");
    const refusal = new NoRowError("Expected shorter keys around values without a column");
    expect(() => rows(below("k".repeat(1_000), 5_000))).toThrow(refusal);
  });

  test.each([
    ["text", "Expected an event that is a JSON object"],
    [[1], "Expected an event that is a JSON object"],
    [{ messageId: "m" }, "Expected an event of type track, page, screen, identify, group, alias"],
    [
      { type: ["page"], messageId: "m" },
      "Expected an event of type track, page, screen, identify, group, alias",
    ],
    [{ type: "toString" }, "Expected an event of type track, page, screen, identify, group, alias"],
    [{ type: "page", messageId: {}, x: 1 }, undefined],
    [
      { type: "page", messageId: [1] },
      `Expected a messageId of at most ${MESSAGE_ID_BYTES_MAX} bytes`,
    ],
    [
      { type: "page", messageId: true },
      `Expected a messageId of at most ${MESSAGE_ID_BYTES_MAX} bytes`,
    ],
  ])("of %j are made, or refused with %j", (value, message) => {
    if (message === undefined) expect(rows(value)).toHaveLength(1);
    else expect(() => rows(value)).toThrow(new NoRowError(message));
  });

  test("have the id of an event, or a hash of an id that cannot be stored", () => {
    const idOf = (messageId: unknown) => raw({ messageId }).cells.message_id;
    const longest = "x".repeat(MESSAGE_ID_BYTES_MAX);
    expect([idOf("m"), idOf(7), idOf(longest)]).toEqual(["m", "7", longest]);
    const large = ["9007199254740992", "9007199254740993"];
    const cells = large.map((id) => raw(Buffer.from(`{"messageId":${id}}`)).cells);
    expect(cells.map(({ message_id }) => message_id)).toEqual(large);
    const hashes = ["m\0", "m\ud800", "m\ud801", null].map(idOf);
    for (const hash of hashes) expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(hashes).size).toBe(4);
  });

  test("of users have the values without a column, and not those of the event", () => {
    const traits = { "a b": 1, aB: 2 };
    const identify = { type: "identify", ...event, traits, context: { ...context, ...times } };
    const [row, user] = rowsOf(outgoing(identify, input), 0, names, () => true);
    expect({ ...user!.rest }).toEqual({ ...row!.rest });
    expect(Object.keys(user!.rest)).toHaveLength(1);
    expect(user!.cells).toMatchObject({ id: "u1", received_at: "r", context_ip: "192.0.2.1" });
    for (const column of ["sent_at", "timestamp", "original_timestamp", "channel", "user_id"]) {
      expect(user!.cells[column]).toBeUndefined();
    }
  });

  test("raw mode has the identity of an event beside the whole event", () => {
    const event = { type: "track", event: "x", messageId: 7, receivedAt: "2026-01-01T00:00:00Z" };
    expect(Object.entries(raw(event).cells)).toEqual([
      ["message_id", "7"],
      ["received_at", "2026-01-01T00:00:00Z"],
      ["type", "track"],
      ["event", "x"],
      ["payload", new JsonText(JSON.stringify(event))],
    ]);
  });

  test("raw mode keeps all digits of numbers, and characters that were sent as escapes", () => {
    const text = '{"messageId":"m","a":[12345678901234567890,1.10],"b":"\\ud83d\\ude42\\ud83d"}';
    const { payload } = raw(Buffer.from(text)).cells;
    const kept = text.replace(/\\ud83d"/, '\ufffd"');
    expect(fit(payload, { type: "json", sqlType: "jsonb" })).toBe(kept);
    expect(fit(payload, { type: "string", sqlType: "text" })).toBe(kept);
    expect(JSON.parse(JSON.stringify({ payload })).payload).toEqual(JSON.parse(text));
  });

  test("an event without an id gets the same one each time", () => {
    const id = (event: unknown) => raw(event).cells.message_id;
    expect(id({ a: 1 })).toBe(id({ a: 1 }));
    expect(id({ a: 1 })).not.toBe(id({ a: 2 }));
    expect(() => id({ messageId: "x".repeat(MESSAGE_ID_BYTES_MAX + 1) })).toThrow(NoRowError);
  });

  test("deeply nested properties become JSON text", () => {
    let deep: unknown = "end";
    for (let n = 0; n < 900; n++) deep = { k: deep };
    const [row] = rows({ type: "page", messageId: "m", properties: { deep } });
    const [column, value] = Object.entries(row!.cells).at(-1)!;
    expect(column.split("_").length).toBe(TABLE_LEVELS_MAX + 1);
    expect(typeof value).toBe("object");
  });
});

describe("tables", () => {
  const place = (columns: TableColumns, ...events: object[]) => {
    const all = events.flatMap(rows);
    for (const [name, type] of missingColumns(all, columns, names)) {
      columns.set(name, { type, sqlType: type });
    }
    return all.map((row) => recordOf(row, columns, names));
  };
  const page = (messageId: string, properties: object) => ({ type: "page", messageId, properties });

  test("a full table gets only the column for the rest", () => {
    const columns: TableColumns = new Map();
    for (let n = 0; columns.size < TABLE_COLUMNS_MAX; n++) {
      place(
        columns,
        page("m", Object.fromEntries([...Array(100)].map((_, m) => [`p${n}x${m}`, 1]))),
      );
    }
    expect(columns.size).toBe(TABLE_COLUMNS_MAX + 1);
    expect(columns.has(restColumn)).toBe(true);
    const [record] = place(columns, page("m", { fresh: "x", p0x0: "text" }));
    expect(columns.size).toBe(TABLE_COLUMNS_MAX + 1);
    expect({ ...record }).toMatchObject({
      id: "m",
      [restColumn]: '{"fresh":"x","p_0_x_0":"text"}',
    });
  });

  test("values whose keys give the same path are kept side by side", () => {
    const columns: TableColumns = new Map();
    const [record] = place(
      columns,
      page("m", { a: { b_c: 1 }, a_b: { c: 2 }, a_b_c: 3, aB_c: 4, "a b c": 5 }),
    );
    expect(record!.a_b_c).toBe(1);
    const rest = JSON.parse(record![restColumn] as string);
    expect(rest).toEqual({ a_b_c: 2, a_b_c__2: 3, aB_c: 4, "a b c": 5 });
  });

  test("values whose keys differ in characters that cannot be stored are kept side by side", () => {
    const [record] = place(new Map(), page("m", { "\ud800": 1, "\udfff": 2, é: 3, "é\0": 4 }));
    const rest = JSON.parse(record![restColumn] as string);
    expect(rest).toEqual({ "\ufffd": 1, "\ufffd__2": 2, é: 3, é__2: 4 });
  });

  test("a value that fits no column does not replace another one of its name", () => {
    const columns: TableColumns = new Map();
    place(columns, page("m", { m: 1 }));
    for (let n = 0; columns.size < TABLE_COLUMNS_MAX; n++)
      place(columns, page("m", { [`p${n}`]: 1 }));
    const [record] = place(columns, page("m", { " m": "text", m: 0 }));
    expect(JSON.parse(record![restColumn] as string)).toEqual({ m: 0, m__2: "text" });
  });

  const value = fc.oneof(
    ...[
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.string(),
      fc.constant(null),
    ],
    ...[fc.date({ noInvalidDate: true }).map(String), fc.array(fc.integer(), { maxLength: 3 })],
    fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ minLength: 1 }), { maxKeys: 3 }),
  );
  const key = fc.oneof(
    fc.constantFrom("a", "A", "b", "select", "id", "user_id", "a_b", "a.b", "x__text", "__proto__"),
    fc.string({ maxLength: 12 }),
  );

  test("each value is in its column, in the text column, or in the rest, whatever the events are", () => {
    const columns: TableColumns = new Map();
    fc.assert(
      fc.property(fc.array(fc.dictionary(key, value, { maxKeys: 6 }), { minLength: 1 }), (all) => {
        const records = place(columns, ...all.map((properties, n) => page(`m${n}`, properties)));
        for (const [n, properties] of all.entries()) {
          const record = records[n]!;
          expect(record.id).toBe(`m${n}`);
          const rest = JSON.parse((record[restColumn] as string) ?? "{}");
          for (const [path, one] of Object.entries(properties)) {
            if (one === null || one === "" || typeof one === "object") continue;
            const name = names.column(path);
            const there = [record[name], record[names.textColumn(name)]];
            for (const [key, kept] of Object.entries(rest)) {
              const isOfPath = [key, key.replace(/__\d+$/, "")].some((it) =>
                [path, name].includes(it),
              );
              if (isOfPath) there.push(kept as string);
            }
            expect(there.map(String)).toContain(String(fit(one, { type: "string", sqlType: "" })));
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a row that fits its table gives one record in both ways, and keeps its cells", () => {
    const columns: TableColumns = new Map();
    fc.assert(
      fc.property(fc.dictionary(key, value, { maxKeys: 6 }), (properties) => {
        const event = page("m", properties);
        place(columns, event);
        const [row] = rows(event);
        const cells = { ...row!.cells };
        const record = wholeRecord(row!, columns, names);
        expect(row!.cells).toEqual(Object.assign(Object.create(null), cells));
        const isWhole = record !== undefined;
        if (isWhole) expect({ ...record }).toEqual({ ...recordOf(row!, columns, names) });
      }),
      { numRuns: 300 },
    );
  });

  test("the column names of many events with the same keys are made once", () => {
    const own = new WarehouseNames({ charsMax: 63, escapesWords: true });
    let made = 0;
    const { column } = own;
    own.column = (path) => {
      made += 1;
      return column.call(own, path);
    };
    const event = { ...page("m", { a: 1, b: { c: 2 } }), context: { library: { name: "x" } } };
    for (let n = 0; n < 100; n++) rowsOf(outgoing(event), n, own, () => false);
    // The paths a, b_c and context_library_name: the objects have no columns.
    expect(made).toBe(3);
  });
});
