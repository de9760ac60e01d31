import { expect, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import { recentRoutes } from "../../../src/api/routes/events/recent.ts";
import {
  RECENT_ANSWER_BYTES_MAX,
  RECENT_EVENTS_MAX,
  RECENT_REQUESTS_OF_WORKSPACE_MAX,
  RECENT_SCAN_BYTES_MAX,
} from "../../../src/settings/limits.ts";

const [{ handle }] = recentRoutes;

/** An event whose JSON has a number of bytes. */
const found = (bytes: number, n = 0) => ({
  ...{ messageId: `m${n}`, sourceId: "s", receivedAt: 10 - n },
  event: { json: Buffer.from("1".padStart(bytes)) },
});

interface Scene {
  query?: object;
  events?: object[];
  stopped?: object;
  outcomes?: object[];
  remembered?: object[];
  search?: () => Promise<never>;
}

/** Asks for the recent events of workspace `w`, whose source `s` is connected to destination `d`. */
function asked({
  query = {},
  events = [],
  stopped,
  outcomes = [],
  remembered = [],
  search,
}: Scene) {
  const wanted: any[] = [];
  const limiters = createLimiters(0);
  const closing = new AbortController();
  const lane = (id: string) =>
    id === "gone"
      ? undefined
      : {
          destination: { workspaceId: id === "foreign" ? "x" : "w" },
          connections: [{ sourceId: "s" }],
        };
  const deps = {
    limiters,
    catalog: {
      live: { lane, sourceById: (id: string) => ({ workspaceId: id === "x" ? "x" : "w" }) },
    },
    pipeline: {
      async search(given: object) {
        wanted.push(given);
        if (search) return await search();
        return { events, stopped, reachedAt: 5 };
      },
      outcomes: async (_: string, some: object[]) => some.map(() => outcomes),
      latestOutcomes: (...question: unknown[]) => {
        wanted.push(question);
        return remembered;
      },
    },
  };
  const request = new Request("http://x/");
  const call = { deps, workspaceId: "w", query, request, closing: closing.signal };
  const answer = Promise.resolve(handle(call as never)) as Promise<any>;
  return { answer, wanted, limiters, closing };
}

const MAX = RECENT_ANSWER_BYTES_MAX;
test.each([
  [[1], 1],
  [[MAX - 1, 1], 2],
  [[MAX - 1, 1, 1], 2],
  [[MAX, 1], 1],
  [[MAX + 1, 1], 1],
  [[1, MAX], 1],
])(
  "recent events of %j bytes are answered up to the bytes of an answer: %d",
  async (sizes, count) => {
    const events = sizes.map((bytes, n) => found(bytes, n));
    const { answer } = asked({ events });
    expect((await answer).events).toHaveLength(count);
  },
);

test("an answer of recent events says how far the logs were read when that is not enough", async () => {
  const reachedAt = async (by?: string) =>
    (await asked(by === undefined ? {} : { stopped: { by } }).answer).reachedAt;
  const at = "1970-01-01T00:00:00.005Z";
  expect([await reachedAt("bytes"), await reachedAt("time")]).toEqual([at, at]);
  for (const by of [undefined, "limit", "size"]) expect(await reachedAt(by)).toBeUndefined();
});

test("recent events are searched and remembered in the number that the request asks for", async () => {
  const usual = asked({});
  await usual.answer;
  const bounds = { limit: RECENT_EVENTS_MAX, scannedBytesMax: RECENT_SCAN_BYTES_MAX };
  expect(usual.wanted).toStrictEqual([
    { ...bounds, isSource: expect.any(Function) },
    ["w", {}, RECENT_EVENTS_MAX],
  ]);
  const query = { sourceId: "s", destinationId: "d", outcome: "dropped", limit: 2 };
  const { limit, ...filter } = query;
  const few = asked({ query });
  await few.answer;
  expect([few.wanted[0].limit, few.wanted[1]]).toEqual([limit, ["w", filter, limit]]);
});

test("recent events of a destination are those of its sources, in its own workspace", async () => {
  const sources = async (query: object) => {
    const { answer, wanted } = asked({ query });
    await answer;
    return ["s", "t", "x"].filter(wanted[0].isSource);
  };
  expect(await sources({})).toEqual(["s", "t"]);
  expect(await sources({ destinationId: "d" })).toEqual(["s"]);
  expect(await sources({ destinationId: "d", sourceId: "t" })).toEqual([]);
  expect(await sources({ destinationId: "foreign" })).toEqual([]);
  expect(await sources({ destinationId: "gone" })).toEqual([]);
});

test("a recent event has the outcomes at the destination that is asked for, or is left out", async () => {
  const outcomes = ["d", "e"].map((destinationId) => ({ destinationId, outcome: "settled" }));
  const events = [{ ...found(1), refused: "Too long" }];
  const listed = async (query: object) => (await asked({ query, events, outcomes }).answer).events;
  expect(await listed({})).toStrictEqual([
    {
      ...{ messageId: "m0", sourceId: "s", refused: "Too long", received: 1, outcomes },
      ...{ at: "1970-01-01T00:00:00.010Z", receivedAt: "1970-01-01T00:00:00.010Z" },
    },
  ]);
  expect((await listed({ destinationId: "e" }))[0].outcomes).toEqual([outcomes[1]]);
  expect(await listed({ destinationId: "f" })).toEqual([]);
  expect(await listed({ outcome: "settled" })).toHaveLength(1);
  expect(await listed({ outcome: "dropped" })).toEqual([]);
});

test("the outcome of an event in memory is shown with its time, and without members that have no value", async () => {
  const memory = {
    ...{ messageId: "r", sourceId: "s", receivedAt: 1, destinationId: "d" },
    ...{ outcome: "delivered", at: 7, event: '{"made":true}' },
  };
  const { answer } = asked({ remembered: [memory] });
  expect((await answer).events).toStrictEqual([
    {
      ...{ messageId: "r", sourceId: "s" },
      ...{ at: "1970-01-01T00:00:00.007Z", receivedAt: "1970-01-01T00:00:00.001Z" },
      outcomes: [
        {
          ...{ destinationId: "d", outcome: "delivered", event: { made: true } },
          at: "1970-01-01T00:00:00.007Z",
        },
      ],
    },
  ]);
});

test("a request for recent events that fails gives its permit back, and one that ends is unavailable", async () => {
  const failed = asked({ search: () => Promise.reject(new Error("The disk is gone")) });
  await expect(failed.answer).rejects.toThrow("The disk is gone");
  for (let n = 0; n < RECENT_REQUESTS_OF_WORKSPACE_MAX; n++) {
    failed.limiters.recentEvents.acquire("w");
  }
  expect(() => failed.limiters.recentEvents.acquire("w")).toThrow("recent events");
  const aborted: ReturnType<typeof asked> = asked({
    async search() {
      await Promise.resolve();
      aborted.closing.abort();
      throw new Error("The disk is gone");
    },
  });
  await expect(aborted.answer).rejects.toThrow("The request was aborted");
});
