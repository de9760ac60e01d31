import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { ADMIN_TOKEN } from "../e2e/server.ts";
import { inProcess, type Sent, start, startAnswers } from "./in-process.ts";

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const REASON = "refused\u001b";
let reason = REASON;
const letter = (number: number) => ({
  id: `l${number}`,
  createdAt: "2026-02-16T01:11:00.000Z",
  reason,
  event: number === 2 ? { type: "page" } : { type: "track", event: "Bought" },
});
const counts = { done: 0, delivered: 3, dropped: 0, failed: 0, pending: 0 };
const replay = { id: "r1", kind: "replay", state: "done", progress: 1, perSecond: 0, counts };
let letters = 0;
let isEmpty = false;

const server = startAnswers({
  // Two pages: the server has more names than one answer holds.
  "GET /v2/status/names": ({ query }) => ({
    names: query.page === "1" ? [{ id: "d1", name: "Hook" }] : [{ id: "d2", name: "Log" }],
    total: 2,
  }),
  "GET /v2/dead-letter-groups": () => ({
    letters: 1,
    deadLetterGroups: [
      { id: "g1", destinationId: "d1", reason: "no\u001b", count: 1_200, lastAt: isoAgo(90_000) },
      { id: "g2", destinationId: "d9", reason: "other", count: 1, lastAt: isoAgo(-DAY_MS) },
    ],
  }),
  "GET /v2/dead-letters": ({ query }) => {
    const first = Number(query.after ?? 0);
    const last = Math.min(letters, first + Number(query.count));
    const page = Array.from({ length: last - first }, (_, index) => letter(first + index + 1));
    const next = last < letters ? { next: `/v2/dead-letters?count=1&after=${last}` } : {};
    return { deadLetters: page, paging: { total: letters, ...next }, asOf: "now" };
  },
  "POST /v2/dead-letters/replay": () => (isEmpty ? {} : { replay }),
  "POST /v2/dead-letters/purge": () => (isEmpty ? {} : { replay: { ...replay, kind: "purge" } }),
});
afterAll(server[Symbol.dispose]);
const piped = inProcess(server);
const inTerminal = inProcess(server, true);

function isoAgo(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}
const asked = (route: string): Sent[] => server.sent.filter((it) => it.route === route);

beforeEach(() => {
  server.sent.length = 0;
  letters = 3;
  isEmpty = false;
});

describe("dead-letters groups", () => {
  test("prints counts, the names of destinations, reasons and ages", async () => {
    const { code, output } = await piped(["dead-letters", "groups"]);
    expect(code).toBe(0);
    expect(output).toBe(
      [
        "  1,200  Hook: no\\u001b",
        "         g1, last 2 min ago",
        "      1  d9: other",
        "         g2, last 0 ms ago",
        "1 dead letter\n",
      ].join("\n"),
    );
    expect(asked("GET /v2/dead-letter-groups")[0]?.query).toEqual({});
  });

  test("of one destination are JSON lines without a sum with --json", async () => {
    const { output } = await piped(["dead-letters", "groups", "--json", "--destination", "log"]);
    expect(
      output
        .trimEnd()
        .split("\n")
        .map((it) => JSON.parse(it).id),
    ).toEqual(["g1", "g2"]);
    expect(asked("GET /v2/dead-letter-groups")[0]?.query).toEqual({ destinationId: "d2" });
  });

  test("fit the columns of a terminal", async () => {
    const { output } = await inTerminal(["dead-letters", "groups"]);
    expect(output).toContain("\u001b[2m         g1, last 2 min ago");
  });
});

describe("dead-letters list", () => {
  test("prints id, time, kind and reason of 20 letters", async () => {
    letters = 25;
    const { code, output } = await piped(["dead-letters", "list"]);
    const lines = output.trimEnd().split("\n");
    expect([code, lines.length]).toEqual([0, 40]);
    expect(lines.slice(0, 3)).toEqual([
      "l1  2026-02-16T01:11:00.000Z  track Bought",
      "  refused\\u001b",
      "l2  2026-02-16T01:11:00.000Z  page",
    ]);
  });

  test("asks for as many pages as --count needs, up to the last one", async () => {
    letters = 150;
    const list = ["dead-letters", "list", "--json", "--count"];
    const { output } = await piped([...list, "101"]);
    expect(
      output
        .trimEnd()
        .split("\n")
        .map((it) => JSON.parse(it).id),
    ).toHaveLength(101);
    expect(asked("GET /v2/dead-letters").map(({ query }) => query)).toEqual([
      { count: "100" },
      { count: "1", after: "100" },
    ]);
    const all = await piped([...list, "500"]);
    expect(all.output.trimEnd().split("\n")).toHaveLength(150);
    expect(asked("GET /v2/dead-letters")).toHaveLength(4);
  });

  test("fits the columns of a terminal", async () => {
    reason = "r".repeat(100);
    letters = 1;
    const { output } = await inTerminal(["dead-letters", "list"]);
    expect(output.split("\n")[1]).toBe(`  ${"r".repeat(77)}…`);
    reason = REASON;
  });

  test("ends when nothing reads its output any more", async () => {
    letters = 500;
    const { output, ended } = start(["dead-letters", "list", "--count", "500"], {
      environment: { PIXELMILL_SERVER: server.controlPlane, PIXELMILL_TOKEN: ADMIN_TOKEN },
    });
    output.once("written", () => output.emit("error", new Error("EPIPE")));
    expect(await ended).toBe(0);
    expect(asked("GET /v2/dead-letters")).toHaveLength(1);
  });

  test("says that there are none, except as JSON", async () => {
    letters = 0;
    expect((await piped(["dead-letters", "list"])).output).toBe("no dead letters\n");
    expect((await piped(["dead-letters", "list", "--json"])).output).toBe("");
  });

  test("sends the filters that its flags name", async () => {
    const range = ["--from", "90m", "--to", "2026-02-16T01:11:00Z"];
    await piped(["dead-letters", "list", "--group", "g1", "--reason", "no", ...range]);
    const { from = "", ...query } = asked("GET /v2/dead-letters")[0]!.query;
    expect(query).toEqual({
      count: "20",
      groupId: "g1",
      reason: "no",
      to: "2026-02-16T01:11:00.000Z",
    });
    const age = Date.now() - Date.parse(from);
    expect(age).toBeGreaterThanOrEqual(90 * MINUTE_MS);
    expect(age).toBeLessThan(100 * MINUTE_MS);
  });

  test.each([
    ["7d", 7 * DAY_MS],
    ["2h", 120 * MINUTE_MS],
    ["30s", MINUTE_MS / 2],
  ])("--from %s is a time before now", async (from, ms) => {
    await piped(["dead-letters", "list", "--from", from]);
    const age = Date.now() - Date.parse(asked("GET /v2/dead-letters")[0]!.query.from!);
    expect(age).toBeGreaterThanOrEqual(ms);
    expect(age).toBeLessThan(ms + 10 * MINUTE_MS);
  });

  test.each([
    [["--from", "yesterday"], "Expected --from as a time such as 2026-02-16T01:11:00Z, 30m, 2h"],
    [["--count", "1.5"], "Expected --count as a whole number from 1 on"],
    [["--count", "0"], "Expected --count as a whole number from 1 on"],
    [["--destination", "lgo"], "Unknown destination lgo; the nearest is Log"],
  ])("%j is refused", async (flags, message) => {
    const { code, errors } = await piped(["dead-letters", "list", ...flags]);
    expect([code, errors]).toEqual([1, expect.stringContaining(message)]);
  });
});

describe("dead-letters replay", () => {
  test("selects by a filter what was given up until now, at a rate", async () => {
    const rate = ["--rate", "1"];
    const { code, output } = await piped(["dead-letters", "replay", "--reason", "no", ...rate]);
    expect([code, output]).toEqual([0, "r1  done  3 delivered\n"]);
    expect(asked("GET /v2/dead-letters")[0]?.query).toEqual({ reason: "no", count: "1" });
    expect(asked("POST /v2/dead-letters/replay")[0]?.body).toEqual({
      filter: { reason: "no" },
      all: true,
      before: "now",
      rate: 1,
    });
  });

  test("of all letters wants --all", async () => {
    const without = await piped(["dead-letters", "replay"]);
    expect(without.code).toBe(1);
    expect(without.errors).toContain(
      "Expected a filter such as --group or --destination, or --all",
    );
    isEmpty = true;
    const { code, output } = await piped(["dead-letters", "replay", "--all"]);
    expect([code, output]).toEqual([0, ""]);
    expect(asked("POST /v2/dead-letters/replay")[0]?.body).toEqual({
      filter: {},
      all: true,
      before: "now",
    });
  });
});

describe("dead-letters purge", () => {
  test("without a terminal wants --yes", async () => {
    const purge = ["dead-letters", "purge", "--all"];
    const without = await piped(purge);
    expect(without.code).toBe(1);
    expect(without.errors).toContain("Delete up to 3 dead letters for good? Expected --yes");
    expect(asked("POST /v2/dead-letters/purge")).toEqual([]);
    const { code, output } = await piped([...purge, "--yes"]);
    expect([code, output]).toEqual([0, "r1  done  0 deleted\n"]);
    const body = { filter: {}, all: true, before: "now", expected: 3 };
    expect(asked("POST /v2/dead-letters/purge")[0]?.body).toEqual(body);
    isEmpty = true;
    expect((await piped([...purge, "--yes"])).output).toBe("");
  });

  test.each([
    ["y\n", 0, "0 deleted"],
    ["yes\n", 0, "0 deleted"],
    ["n\n", 1, "nothing was deleted"],
    ["", 1, "nothing was deleted"],
  ])("asks on a terminal, and deletes only after a yes: %j", async (input, code, shown) => {
    const run = await inTerminal(["dead-letters", "purge", "--all"], { input });
    expect([run.code, run.output]).toEqual([code, expect.stringContaining(shown)]);
    expect(run.errors).toContain("Delete up to 3 dead letters for good? [y/N]");
    expect(asked("POST /v2/dead-letters/purge")).toHaveLength(1 - code);
  });
});
