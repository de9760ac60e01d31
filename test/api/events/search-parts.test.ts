import { describe, expect, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import { searchRoutes, toSearch } from "../../../src/api/routes/events/search.ts";
import { openCursor, sealCursor } from "../../../src/api/routes/events/search-cursor.ts";
import { searchExportRoutes } from "../../../src/api/routes/events/search-export.ts";
import {
  SEARCH_EVENTS_MAX,
  SEARCH_EXPORT_EVENTS_MAX,
  SEARCHES_OF_WORKSPACE_MAX,
} from "../../../src/settings/limits.ts";

const key = new Uint8Array(32).fill(7);

describe("the cursor of a search", () => {
  test("has the positions for their own workspace, and nothing for another", () => {
    for (const positions of [{}, { 0: 5 }, { "partition-63": 2 ** 53 - 1, b: 0 }]) {
      const cursor = sealCursor(positions, key);
      expect(openCursor(cursor, key)).toEqual(positions);
      expect(openCursor(cursor, new Uint8Array(32))).toBeUndefined();
      expect(openCursor(cursor.slice(0, -4), key)).toBeUndefined();
    }
    for (const short of ["", "AAAA", "A".repeat(36)])
      expect(openCursor(short, key)).toBeUndefined();
  });

  test("has the length of 64 characters of positions, or of the next multiple", () => {
    // The text of one position has six characters beside the name of the log.
    const bytesOf = (chars: number) => {
      const cursor = sealCursor({ ["a".repeat(chars - 6)]: 1 }, key);
      expect(cursor).toMatch(/^[\w-]+$/);
      return Buffer.from(cursor, "base64url").length;
    };
    const around = 12 + 16;
    expect([7, 63, 64, 65, 128, 129].map(bytesOf)).toEqual(
      [64, 64, 64, 128, 128, 192].map((bytes) => around + bytes),
    );
  });
});

test("a search has the conditions of its query alone, and finds 50 events unless it says how many", () => {
  expect(toSearch({}, key) as object).toStrictEqual({ limit: 50 });
  const [from, to] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
  const rest = { 0: 5 };
  const texts = {
    ...{ messageId: "m", userId: "u", anonymousId: "a", event: "e" },
    ...{ property: "p=q", text: "t" },
  };
  const more = { refused: false, limit: 7, cursor: sealCursor(rest, key) };
  expect(toSearch({ from, to, ...texts, ...more }, key) as object).toStrictEqual({
    ...{ from: Date.parse(from), to: Date.parse(to), ...texts },
    ...{ isRefused: false, limit: 7, rest },
  });
});

interface Found {
  events?: object[];
  stopped?: object;
  reachedAt?: number;
  hasNewer?: boolean;
}

/** A request of workspace `w`, whose searches answer what `search` returns. */
function callOf(search: (wanted: any, signal: AbortSignal) => Found | Promise<Found>, query = {}) {
  const limiters = createLimiters(0);
  const closing = new AbortController();
  const deps = {
    limiters,
    catalog: {
      workspaces: { cursorKey: async () => key },
      live: { sourceById: (id: string) => ({ workspaceId: id === "foreign" ? "x" : "w" }) },
    },
    pipeline: {
      search: async (wanted: object, signal: AbortSignal) => ({
        events: [],
        ...(await search(wanted, signal)),
      }),
      outcomes: async (_: string, events: object[]) => events.map(() => []),
    },
  };
  const request = new Request("http://x/");
  const call = { deps, workspaceId: "w", query, request, closing: closing.signal };
  return { call: call as never, limiters, closing };
}

const found = (n: number) => ({
  ...{ sourceId: "s", messageId: `m${n}`, receivedAt: n },
  event: { json: Buffer.from('{"n":1}') },
});

describe("an answer of a search", () => {
  const [{ handle }] = searchRoutes;

  test("says where it stopped and what it did not see, and nothing of it at the end", async () => {
    const answerTo = async (result: Found) => await handle(callOf(() => result).call);
    expect(await answerTo({})).toStrictEqual({ events: [] } as never);
    const rest = { 0: 9 };
    const answer: any = await answerTo({
      ...{ events: [found(1)], stopped: { by: "size", rest }, reachedAt: 0, hasNewer: true },
    });
    expect(answer).toStrictEqual({
      events: [
        {
          ...{ sourceId: "s", messageId: "m1", receivedAt: "1970-01-01T00:00:00.001Z" },
          ...{ event: { n: 1 }, outcomes: [] },
        },
      ],
      stopped: "size",
      cursor: expect.any(String),
      reachedAt: "1970-01-01T00:00:00.000Z",
      hasNewer: true,
    });
    expect(openCursor(answer.cursor, key)).toEqual(rest);
  });

  test("is one about sources of the workspace, and of the source that the query names", async () => {
    const accepted = async (query: object) => {
      let ids: string[] = [];
      const search = ({ isSource }: any) => {
        ids = ["s", "t", "foreign"].filter(isSource);
        return {};
      };
      await handle(callOf(search, query).call);
      return ids;
    };
    expect(await accepted({})).toEqual(["s", "t"]);
    expect(await accepted({ sourceId: "t" })).toEqual(["t"]);
    expect(await accepted({ sourceId: "foreign" })).toEqual([]);
  });

  test("is that the search was aborted when the server stops, and else the error", async () => {
    const failing = callOf(() => Promise.reject(new Error("The disk is gone")));
    await expect(handle(failing.call)).rejects.toThrow("The disk is gone");
    const stopping: ReturnType<typeof callOf> = callOf(() => {
      stopping.closing.abort();
      throw new Error("The disk is gone");
    });
    await expect(handle(stopping.call)).rejects.toThrow("The search was aborted");
    // Neither keeps its permit.
    for (const { limiters } of [failing, stopping]) {
      for (let n = 0; n < SEARCHES_OF_WORKSPACE_MAX; n++) limiters.searches.acquire("w");
    }
  });
});

describe("an export of a search", () => {
  const [{ handle }] = searchExportRoutes;
  const linesOf = async (call: never) => {
    const response = (await handle(call)) as unknown as Response;
    const text = await response.text();
    return text === "" ? [] : text.trimEnd().split("\n");
  };

  test("goes on where a search stopped, until all is searched", async () => {
    const asked: any[] = [];
    const { call } = callOf(({ rest, limit }) => {
      asked.push({ rest, limit });
      const n = asked.length;
      return { events: [found(n)], ...(n < 3 && { stopped: { by: "limit", rest: { p: n } } }) };
    });
    const lines = await linesOf(call);
    expect(lines.map((line) => JSON.parse(line).messageId)).toEqual(["m1", "m2", "m3"]);
    expect(asked).toEqual(
      [undefined, { p: 1 }, { p: 2 }].map((rest) => ({ rest, limit: SEARCH_EVENTS_MAX })),
    );
  });

  test("ends after 100 searches, and says where to go on", async () => {
    let searches = 0;
    const { call } = callOf(() => {
      searches += 1;
      return { stopped: { by: "time", rest: { p: searches } } };
    });
    const [line, ...others] = await linesOf(call);
    expect(others).toEqual([]);
    const { cursor, ...rest } = JSON.parse(line!);
    expect([searches, openCursor(cursor, key), rest]).toEqual([100, { p: 100 }, {}]);
  });

  test("ends with as many events as an export has, and says where to go on", async () => {
    const some = Array.from({ length: 2 * SEARCH_EVENTS_MAX }, (_, n) => found(n));
    const { call } = callOf(() => ({ events: some, stopped: { by: "limit", rest: { p: 1 } } }));
    const lines = await linesOf(call);
    expect(lines).toHaveLength(SEARCH_EXPORT_EVENTS_MAX + 1);
    expect(Object.keys(JSON.parse(lines.at(-1)!))).toEqual(["cursor"]);
  });

  test("counts as a search until its client has gone, which ends the search", async () => {
    const signals: AbortSignal[] = [];
    const started = Promise.withResolvers<void>();
    const { call, limiters } = callOf((_, signal) => {
      signals.push(signal);
      started.resolve();
      return new Promise(() => {});
    });
    const response = (await handle(call)) as unknown as Response;
    const reader = response.body!.getReader();
    reader.read().catch(() => {});
    await started.promise;
    const others = Array.from({ length: SEARCHES_OF_WORKSPACE_MAX - 1 }, () =>
      limiters.searches.acquire("w"),
    );
    expect(() => limiters.searches.acquire("w")).toThrow("searches of a workspace");
    await reader.cancel();
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    for (const permit of others) permit.release();
    for (let n = 0; n < SEARCHES_OF_WORKSPACE_MAX; n++) limiters.searches.acquire("w");
  });
});
