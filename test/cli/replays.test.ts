import { afterAll, beforeEach, expect, test } from "bun:test";
import { inProcess, startAnswers } from "./in-process.ts";

const counts = { done: 0, delivered: 3, dropped: 0, failed: 0, pending: 0 };
const replay = { id: "r1", kind: "replay", state: "done", progress: 1, perSecond: 0, counts };
const failed = { ...replay, counts: { ...counts, failed: 1 } };
let replays: unknown[] = [];
const destinations = [
  { id: "d1", name: "Hook" },
  { id: "d2", name: "HOOK" },
  { id: "d3", name: "d1" },
  { id: "d4", name: "Data warehouse" },
];
let [total, lastPage] = [4, Number.POSITIVE_INFINITY];

const server = startAnswers({
  "GET /v2/status/names": ({ query }) => {
    if (query.kind === "source") return { names: [{ id: "s1", name: "Site" }], total: 1 };
    return { names: Number(query.page) > lastPage ? [] : destinations, total };
  },
  "POST /v2/replays": () => ({ replay }),
  "GET /v2/replays": () => ({ replays }),
  "GET /v2/replays/r1": () => ({ replay: failed }),
  "POST /v2/replays/r1/cancel": () => ({ replay: { ...replay, state: "cancelled" } }),
});
afterAll(server[Symbol.dispose]);
const piped = inProcess(server);
const bodies = () => server.sent.filter(({ route }) => route === "POST /v2/replays");
beforeEach(() => {
  server.sent.length = 0;
});

const from = ["--from", "2026-02-16T01:11:00Z"];

test("replay start sends the destination, the time and only the filters that are given", async () => {
  const { code, output } = await piped(["replay", "start", "--destination", "d1", ...from]);
  expect([code, output]).toEqual([0, "r1  done  3 delivered\n"]);
  const body = { destinationId: "d1", from: "2026-02-16T01:11:00.000Z" };
  expect(bodies()[0]?.body).toEqual(body);
  await piped(["replay", "start", "--destination", "d1", ...from, "--user", "u"]);
  expect(bodies()[1]?.body).toEqual({ ...body, filter: { userId: "u" } });
  const filter = ["--type", "track", "--event", "E", "--user", "u", "--grep", "g"];
  const more = ["--to", "2026-02-17", "--source", "site", "--rate", "9", ...filter];
  await piped(["replay", "start", "--destination", "Hook", ...from, ...more]);
  expect(bodies()[2]?.body).toEqual({
    ...body,
    to: "2026-02-17T00:00:00.000Z",
    sourceId: "s1",
    rate: 9,
    filter: { type: "track", event: "E", userId: "u", text: "g" },
  });
});

test("names of destinations are read in pages, a bounded number of them", async () => {
  total = 1_000_000_000;
  const endless = await piped(["replay", "start", "--destination", "none", ...from]);
  expect(endless.code).toBe(1);
  const pages = server.sent.filter(({ route }) => route === "GET /v2/status/names");
  expect(pages.map(({ query }) => query)).toEqual(
    Array.from({ length: 100 }, (_, index) => ({
      kind: "destination",
      page: String(index + 1),
      count: "100",
    })),
  );
  server.sent.length = 0;
  lastPage = 2;
  await piped(["replay", "start", "--destination", "none", ...from]);
  expect(server.sent).toHaveLength(3);
  [total, lastPage] = [4, Number.POSITIVE_INFINITY];
});

test.each([
  ["hook", "Several items have this name; expected the id of a destination: d1, d2"],
  ["warehouse", "Unknown destination warehouse; the nearest is Data warehouse"],
  ["zzzzzzzz", "Unknown destination zzzzzzzz\n"],
])("the destination %s is refused with what helps", async (name, message) => {
  const { code, errors } = await piped(["replay", "start", "--destination", name, ...from]);
  expect([code, errors]).toEqual([1, expect.stringContaining(message)]);
  expect(bodies()).toEqual([]);
});

test("replay list prints lines, JSON, or that there is none", async () => {
  expect((await piped(["replay", "list"])).output).toBe("no replays\n");
  replays = [replay, failed];
  const { code, output } = await piped(["replay", "list"]);
  expect([code, output]).toEqual([0, "r1  done  3 delivered\nr1  done  3 delivered, 1 failed\n"]);
  const json = await piped(["replay", "list", "--json"]);
  expect(json.output).toBe(`${JSON.stringify(replays, null, 2)}\n`);
});

test("replay watch waits for the end, and exits with 1 when events failed", async () => {
  const { code, output } = await piped(["replay", "watch", "r1"]);
  expect([code, output]).toEqual([1, "r1  done  3 delivered, 1 failed\n"]);
});

test("replay cancel prints the replay as it ended", async () => {
  const { code, output } = await piped(["replay", "cancel", "r1"]);
  expect([code, output]).toEqual([0, "r1  cancelled  3 delivered\n"]);
  const json = await piped(["replay", "cancel", "r1", "--json"]);
  expect(JSON.parse(json.output).state).toBe("cancelled");
});
