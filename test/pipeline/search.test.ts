import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { pino } from "pino";
import { eventOf } from "../../src/event/event.ts";
import { eventRecordCodec, type PixelRecord } from "../../src/event/record.ts";
import { uuidText } from "../../src/event/uuid.ts";
import type { LogReader } from "../../src/log/event-log.ts";
import { LossReport } from "../../src/log/loss-report.ts";
import { openLogReader } from "../../src/log/reader.ts";
import { openLogWriter } from "../../src/log/writer.ts";
import {
  createSearch,
  type SearchQuery,
  type SearchResult,
} from "../../src/pipeline/search/search.ts";
import {
  SEARCH_ANSWER_BYTES_MAX,
  SEARCH_BYTES_MAX,
  SEARCH_MS_MAX,
} from "../../src/settings/limits.ts";

const logger = pino({ level: "silent" });
const directory = mkdtempSync(join(tmpdir(), "pixelmill-search-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let records = 0;
function record(receivedAt: number, query: string, over: Partial<PixelRecord> = {}): PixelRecord {
  const messageId = new Uint8Array(16);
  new DataView(messageId.buffer).setUint32(0, records++);
  return {
    type: "track",
    sourceId: "ours",
    clientAddress: "",
    messageId,
    receivedAt,
    query,
    ...over,
  };
}

let opened = 0;
/** Real logs of these records; a flush takes up to `together`. */
async function logsOf(logs: PixelRecord[][], together = 7) {
  const readers = new Map<string, LogReader>();
  for (const [n, all] of logs.entries()) {
    const at = join(directory, String(opened++));
    const segmentBytesMax = 4_000;
    const writer = await openLogWriter({
      directory: at,
      codec: eventRecordCodec,
      logger,
      segmentBytesMax,
    });
    for (let i = 0; i < all.length; i += together) {
      await Promise.all(all.slice(i, i + together).map((it) => writer.append(it)));
    }
    const reader = await openLogReader({ directory: at, losses: new LossReport({ logger }) });
    reader.advance(writer.durable());
    await writer.close();
    readers.set(String(n), reader);
  }
  return readers;
}

const never = new AbortController().signal;
const isSource = (id: string) => id === "ours";

function searchOf(readers: ReadonlyMap<string, LogReader>, elapsed = () => 0) {
  const search = createSearch({ readers, clock: { elapsed }, eventOf });
  return (query: Partial<SearchQuery> = {}) => search({ limit: 10, isSource, ...query }, never);
}

/** All pages of a search. */
async function all(
  find: (query: Partial<SearchQuery>) => Promise<SearchResult>,
  query: Partial<SearchQuery>,
): Promise<{ pages: SearchResult[]; ids: string[] }> {
  const pages: SearchResult[] = [];
  for (;;) {
    const rest = pages.at(-1)?.stopped?.rest;
    pages.push(await find({ ...query, ...(rest && { rest }) }));
    if (pages.at(-1)!.stopped === undefined) break;
  }
  const ids = pages.flatMap(({ events }) => events.map((it) => idOf(it)));
  return { pages, ids };
}

const idOf = ({ messageId }: { messageId: Uint8Array | string }) =>
  typeof messageId === "string" ? messageId : uuidText(messageId);

describe("search", () => {
  test("a search of empty logs finds no events", async () => {
    const find = searchOf(await logsOf([[], []]));
    expect(await find()).toEqual({ events: [], reachedAt: undefined, hasNewer: false });
    expect(await find({ from: 5, to: 9 })).toMatchObject({ events: [], reachedAt: 5 });
  });

  test("a search finds the newest events of all logs first, and continues where it stopped", async () => {
    const logs: PixelRecord[][] = [[], [], []];
    for (let n = 0; n < 300; n++) logs[(n * n) % 3]!.push(record(1_000 + n, `event=E${n}`));
    const find = searchOf(await logsOf(logs));
    const { pages } = await all(find, { limit: 7 });
    const names = pages.flatMap(({ events }) => events.map(({ event }) => event.name));
    expect(names).toEqual(Array.from({ length: 300 }, (_, n) => `E${299 - n}`));
    expect(pages[0]!.events.length).toBe(7);
    expect(pages[0]!.stopped!.by).toBe("limit");
    expect(pages[0]!.reachedAt).toBeGreaterThanOrEqual(1_292);
    expect(pages[0]!.reachedAt).toBeLessThanOrEqual(1_293);
  });

  test("a search finds no event of another workspace's source", async () => {
    const readers = await logsOf([
      [record(1, "userId=u"), record(2, "userId=u", { sourceId: "theirs" }), record(3, "userId=u")],
    ]);
    const { events } = await searchOf(readers)({ userId: "u" });
    expect(events.map(({ receivedAt }) => receivedAt)).toEqual([3, 1]);
  });

  test("a search stops at the size of a response, which has at least one event", async () => {
    const large = record(1, `properties.text=${"%01".repeat(10_000)}`);
    const size = eventOf(large).json.length;
    const fitting = Math.floor(SEARCH_ANSWER_BYTES_MAX / size);
    const logs = [Array.from({ length: fitting + 5 }, (_, n) => ({ ...large, receivedAt: n + 1 }))];
    const find = searchOf(await logsOf(logs));
    const first = await find({ limit: 1_000 });
    expect(first.events.length).toBe(fitting);
    expect(first.stopped!.by).toBe("size");
    const second = await find({ limit: 1_000, rest: first.stopped!.rest });
    expect(second.events.map(({ receivedAt }) => receivedAt)).toEqual([5, 4, 3, 2, 1]);
  });

  test("a search that stops at its time limit reaches the end page by page", async () => {
    const logs = [0, 1].map((log) =>
      Array.from({ length: 5_000 }, (_, n) => record(2 * n + log, `userId=${n % 1_000}`)),
    );
    let now = 0;
    const find = searchOf(await logsOf(logs, 500), () => (now += SEARCH_MS_MAX));
    const { pages, ids } = await all(find, { userId: "7" });
    expect(ids.length).toBe(10);
    expect(pages.length).toBeGreaterThan(1);
    expect(new Set(pages.slice(0, -1).map(({ stopped }) => stopped!.by))).toEqual(
      new Set(["time"]),
    );
    const reached = pages.slice(0, -1).map(({ reachedAt }) => reachedAt!);
    expect(reached).toEqual([...reached].sort((a, b) => b - a));
  });

  test("a search reads no further than it has to, and returns its position", async () => {
    const logs = [Array.from({ length: 20_000 }, (_, n) => record(n, `event=E${n}`))];
    const readers = await logsOf(logs, 500);
    const reader = readers.get("0")!;
    let lowest = Number.POSITIVE_INFINITY;
    const read = reader.read.bind(reader);
    reader.read = (sequence, bytesMax) => {
      lowest = Math.min(lowest, sequence);
      return read(sequence, bytesMax);
    };
    const { events, reachedAt } = await searchOf(readers)({ limit: 10 });
    expect(events.map(({ receivedAt }) => receivedAt)).toEqual(
      Array.from({ length: 10 }, (_, n) => 19_999 - n),
    );
    expect(reachedAt).toBe(19_990);
    expect(lowest).toBeGreaterThan(15_000);
  });

  test("a search stops after a number of records, and returns where to continue", async () => {
    const bytes = new Uint8Array(1 << 20);
    const count = SEARCH_BYTES_MAX / bytes.length + 100;
    const steps: number[] = [];
    const reader: LogReader = {
      first: () => 0,
      end: () => count,
      advance() {},
      async read(sequence) {
        steps.push(sequence);
        return { records: [{ sequence, bytes }], next: sequence + 1 };
      },
      trim: async () => {},
      countBetween: (from, to) => to - from,
      parts: () => [{ first: 0, bytes: count * bytes.length }],
      close: async () => {},
    };
    const find = searchOf(new Map([["0", reader]]));
    const first = await find();
    expect(first.events).toEqual([]);
    expect(first.stopped!.by).toBe("bytes");
    const { rest } = first.stopped!;
    expect(rest["0"]).toBeGreaterThan(0);
    expect(steps.length).toBeLessThan(count);
    steps.length = 0;
    expect((await find({ rest })).stopped).toBeUndefined();
    expect(Math.max(...steps)).toBe(rest["0"]! - 1);
  });

  test("a search continues within its time range", async () => {
    const logs = [Array.from({ length: 100 }, (_, n) => record(n, ""))];
    const { pages } = await all(searchOf(await logsOf(logs)), { from: 20, to: 50, limit: 7 });
    const times = pages.flatMap(({ events }) => events.map(({ receivedAt }) => receivedAt));
    expect(times).toEqual(Array.from({ length: 30 }, (_, n) => 49 - n));
  });

  test("a search ends when it is aborted", async () => {
    const readers = await logsOf([[record(1, "")]]);
    const search = createSearch({ readers, clock: { elapsed: () => 0 }, eventOf });
    const signal = AbortSignal.abort(new Error("gone"));
    await expect(search({ limit: 1, isSource }, signal)).rejects.toThrow("gone");
  });

  test("a search continues from a position that was trimmed meanwhile", async () => {
    const logs = [Array.from({ length: 500 }, (_, n) => record(n, `event=E${n}`))];
    const readers = await logsOf(logs);
    const find = searchOf(readers);
    const first = await find({ limit: 100 });
    await readers.get("0")!.trim(450);
    expect(readers.get("0")!.first()).toBeGreaterThan(400);
    expect(await find({ rest: first.stopped!.rest })).toMatchObject({
      events: [],
      reachedAt: undefined,
    });
  });

  test("a search accepts any position that a caller sends", async () => {
    const find = searchOf(await logsOf([[record(1, "")], [record(2, "")]]));
    const times = async (rest: Record<string, number>) =>
      (await find({ rest })).events.map(({ receivedAt }) => receivedAt);
    expect(await times({})).toEqual([]);
    expect(await times({ 0: 2 ** 53 - 1, 7: 3, toString: 1 })).toEqual([1]);
    expect(await times({ 0: 0, 1: 1.5 })).toEqual([2]);
  });
});

const users = [
  "u",
  "U",
  "u1",
  "ü",
  "日本",
  "a b",
  "a+b",
  "a%b",
  "%75",
  '"u"',
  "u\u0000",
  "\uFFFD",
  "x".repeat(300),
];
const text = fc.oneof(
  fc.constantFrom(...users),
  fc.string({ minLength: 1, maxLength: 3, unit: "grapheme" }),
);

/** A text as some client may send it: every character as it is or as an escape, as it likes. */
const sent = fc.tuple(text, fc.infiniteStream(fc.nat(3))).map(([value, chances]) =>
  [...Buffer.from(value)]
    .map((byte) => {
      const isPlain = /[A-Za-z0-9_.~-]/.test(String.fromCharCode(byte));
      const chance = chances.next().value;
      const hex = byte.toString(16).padStart(2, "0");
      if (byte === 32 && chance === 0) return "+";
      if (isPlain && chance !== 1) return String.fromCharCode(byte);
      return `%${chance === 2 ? hex.toUpperCase() : hex}`;
    })
    .join(""),
);
const parameter = fc
  .tuple(fc.constantFrom("userId", "anonymousId", "event", "properties.p", "%75serId"), sent)
  .map(([name, value]) => `${name}=${value}`);
const stored = fc.record({
  log: fc.nat(2),
  passes: fc.nat(3),
  query: fc.array(parameter, { maxLength: 4 }).map((all) => all.join("&")),
  type: fc.constantFrom("track" as const, "page" as const),
  sourceId: fc.constantFrom("ours", "ours", "theirs"),
});
const asked = fc.record(
  {
    from: fc.nat(60),
    to: fc.nat(60),
    userId: text,
    anonymousId: text,
    event: text,
    limit: fc.integer({ min: 1, max: 9 }),
  },
  { requiredKeys: [] },
);

test("the pages of a search hold each matching event once, as a full scan does", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(stored, { maxLength: 60 }),
      fc.array(asked, { minLength: 1, maxLength: 6 }),
      fc.nat(1_000),
      async (events, questions, chance) => {
        const logs: PixelRecord[][] = [[], [], []];
        let now = 0;
        for (const { log, passes, ...more } of events) {
          now += passes;
          logs[log]!.push(record(now, more.query, more));
        }
        const find = searchOf(await logsOf(logs));
        const some = logs.flat()[chance % Math.max(1, logs.flat().length)];
        const byId = some === undefined ? [] : [{ messageId: uuidText(some.messageId) }];
        // The query is mostly for values that some event has.
        const known = some === undefined ? [] : [eventOf(some)];
        const byUser = known.filter((it) => it.userId !== "").map(({ userId }) => ({ userId }));
        for (const question of [...questions, ...byId, ...byUser]) {
          const fitting = logs.flat().filter((it) => fits(it, question));
          const { ids, pages } = await all(find, question);
          expect(ids.length).toBe(new Set(ids).size);
          expect([...ids].sort()).toEqual(fitting.map(idOf).sort());
          const times = pages.flatMap((page) => page.events.map(({ receivedAt }) => receivedAt));
          expect(times).toEqual([...times].sort((a, b) => b - a));
        }
      },
    ),
    { numRuns: 60 },
  );
});

test("a search finds each event once although clocks were set back", async () => {
  const moved = fc.record({ log: fc.nat(2), passes: fc.integer({ min: -20, max: 20 }) });
  await fc.assert(
    fc.asyncProperty(
      fc.array(moved, { maxLength: 60 }),
      fc.integer({ min: 1, max: 9 }),
      async (events, limit) => {
        const logs: PixelRecord[][] = [[], [], []];
        let now = 1_000;
        for (const { log, passes } of events) {
          now += passes;
          logs[log]!.push(record(now, ""));
        }
        const { ids } = await all(searchOf(await logsOf(logs)), { limit });
        expect([...ids].sort()).toEqual(logs.flat().map(idOf).sort());
      },
    ),
    { numRuns: 40 },
  );
});

function fits(it: PixelRecord, question: Partial<SearchQuery>): boolean {
  const { from = -1, to = 1e9, messageId, userId, anonymousId, event } = question;
  const built = eventOf(it);
  return (
    it.sourceId === "ours" &&
    it.receivedAt >= from &&
    it.receivedAt < to &&
    (messageId === undefined || idOf(it) === messageId) &&
    (userId === undefined || built.userId === userId) &&
    (anonymousId === undefined || built.anonymousId === anonymousId) &&
    (event === undefined || built.name === event)
  );
}
