import { describe, expect, test } from "bun:test";
import { createLimiters } from "../../../src/api/limiters.ts";
import { codeLogRoutes } from "../../../src/api/routes/events/code-logs.ts";
import { deadLetterRoutes } from "../../../src/api/routes/events/dead-letters.ts";
import { destinationFailureRoutes } from "../../../src/api/routes/events/destination-failure.ts";
import { deadLetterAnswer } from "../../../src/api/routes/events/letter-answers.ts";
import { DEAD_LETTER_GROUPS_MAX, PAGE_ITEMS_MAX } from "../../../src/settings/limits.ts";

/** Reads of dead letters, of failures and of log lines by the routes of events. */

const routeOf = (key: string) => deadLetterRoutes.find((it) => it.key === key)!;
const isoOf = (ms: number) => new Date(ms).toISOString();

/** Answers a request of workspace `w` with what these parts of a server have. */
async function answerOf(key: string, deps: object, call: object = {}): Promise<any> {
  const principal = { workspaceId: "w", tokenId: "t", permissions: new Set() };
  const catalog = { tokens: { get: () => ({ name: "Ada" }) } };
  const given = { deps: { catalog, limiters: createLimiters(0), ...deps }, principal };
  const route = routeOf(key) as unknown as { handle(call: object): unknown };
  const answer = await route.handle({ workspaceId: "w", query: {}, params: {}, ...given, ...call });
  return answer instanceof Response ? await answer.json() : answer;
}

describe("a page of dead letters", () => {
  const letter = (id: string) => ({
    ...{ id, sourceId: "s", destinationId: "d", messageId: "m", stage: "deliver", reason: "No" },
    ...{ attempts: 1, event: {}, receivedAt: 1, createdAt: 2 },
  });

  /** Reads a page from letters of which each read finds the next number of `finds`. */
  async function page(finds: number[], query: object = {}) {
    const reads: any[] = [];
    const find = (workspaceId: string, asked: object) => {
      const n = reads.push([workspaceId, asked]);
      const letters = Array.from({ length: finds[n - 1]! }, (_, at) => letter(`${n}.${at}`));
      return { letters, reached: n === finds.length ? undefined : `after ${n}` };
    };
    const deadLetters = { find, count: () => 77 };
    const body = await answerOf("GET /v2/dead-letters", { pipeline: { deadLetters } }, { query });
    return { reads, body, ids: body.deadLetters.map(({ id }: { id: string }) => id) };
  }

  test("is read in parts of ten, each from where the one before has ended", async () => {
    const { reads, ids, body } = await page([10, 10, 5, 1], { count: 25, from: isoOf(3) });
    expect(reads).toStrictEqual([
      ["w", { from: 3, count: 10 }],
      ["w", { from: 3, count: 10, after: "after 1" }],
      ["w", { from: 3, count: 5, after: "after 2" }],
    ]);
    expect(ids).toHaveLength(25);
    const next = `/dead-letters?count=25&from=${encodeURIComponent(isoOf(3))}&after=after+3`;
    expect(body).toMatchObject({ paging: { total: 77, next }, asOf: expect.any(String) });
  });

  test("begins after the letter that the request names, and has a hundred without a number", async () => {
    const { reads } = await page(Array(11).fill(10), { after: "x" });
    expect(reads).toHaveLength(PAGE_ITEMS_MAX / 10);
    expect(reads[0]).toEqual(["w", { count: 10, after: "x" }]);
  });

  test("ends with the last letter, and then names no next page", async () => {
    const { reads, ids, body } = await page([2, 1]);
    expect([reads.length, ids]).toEqual([2, ["1.0", "1.1", "2.0"]]);
    expect(body.paging).toEqual({ total: 77 });
  });

  test("ends after five reads in succession that found nothing, and names the next page", async () => {
    const nothing = await page([0, 0, 0, 0, 0, 0]);
    expect([nothing.reads.length, nothing.ids]).toEqual([5, []]);
    expect(nothing.body.paging.next).toBe("/dead-letters?after=after+5");
    const some = await page([0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    expect([some.reads.length, some.ids]).toEqual([10, ["5.0"]]);
  });
});

test("the groups of dead letters are answered up to a number, with the number of all", async () => {
  const group = (n: number) => ({
    ...{ id: `g${n}`, destinationId: "d", stage: "deliver", reason: "No", count: 1 },
    ...{ firstAt: 1, lastAt: 2, workspaceId: "w" },
  });
  const asked: unknown[] = [];
  const deadLetters = {
    groups: (...given: unknown[]) => {
      asked.push(given);
      return Array.from({ length: DEAD_LETTER_GROUPS_MAX + 1 }, (_, n) => group(n));
    },
    count: (...given: unknown[]) => asked.push(given) && 77,
  };
  const call = { query: { destinationId: "d" } };
  const body = await answerOf("GET /v2/dead-letter-groups", { pipeline: { deadLetters } }, call);
  expect(body.deadLetterGroups).toHaveLength(DEAD_LETTER_GROUPS_MAX);
  expect(body).toMatchObject({ paging: { total: DEAD_LETTER_GROUPS_MAX + 1 }, letters: 77 });
  const { workspaceId: _, ...shown } = { ...group(0), firstAt: isoOf(1), lastAt: isoOf(2) };
  expect(body.deadLetterGroups[0]).toEqual(shown);
  expect(asked).toEqual([
    ["w", "d"],
    ["w", { destinationId: "d" }],
  ]);
});

test.each([
  ["replay", { ids: ["a", "b"] }, ["dead-letters", true, {}]],
  ["replay", { filter: { reason: "No" } }, ["dead-letters", undefined, { reason: "No" }]],
  ["purge", { ids: ["a"] }, ["purge", true, {}]],
] as const)(
  "a %s of the dead letters %j leaves a record of what it was",
  async (verb, body, of) => {
    let record: any;
    const change = async (_: string, ids: string[], given: object) => {
      record = given;
      return { replayed: ids.length, purged: ids.length };
    };
    const deadLetters = {
      ids: () => ({ ids: ["a", "b", "c"], reached: undefined }),
      ...{ replay: change, purge: change },
    };
    const pipeline = { deadLetters, replays: { get: () => undefined } };
    const answer = await answerOf(`POST /v2/dead-letters/${verb}`, { pipeline }, { body });
    expect([record.kind, record.isSelection, record.filter]).toEqual([...of]);
    expect(record.startedBy).toEqual({ id: "t", name: "Ada" });
    const count = "ids" in body ? body.ids.length : 3;
    expect(answer[verb === "purge" ? "purged" : "replayed"]).toBe(count);
    expect(answer).not.toHaveProperty("replay");
  },
);

test("an attempt of a dead letter has the letter's reason unless it failed for another one", () => {
  const attempts = [
    { at: 1, durationMs: 2, status: 500, reason: "Busy" },
    { at: 3, durationMs: 4 },
  ];
  const letter = { id: "l", reason: "No", receivedAt: 5, createdAt: 6, failedAttempts: attempts };
  expect(deadLetterAnswer({ ...letter, other: 1 } as never) as object).toStrictEqual({
    ...{ id: "l", reason: "No", receivedAt: isoOf(5), createdAt: isoOf(6) },
    failedAttempts: [
      { at: isoOf(1), durationMs: 2, status: 500, reason: "Busy" },
      { at: isoOf(3), durationMs: 4, reason: "No" },
    ],
  });
  const { failedAttempts: _, ...older } = letter;
  expect(deadLetterAnswer(older as never)).not.toHaveProperty("failedAttempts");
});

describe("the failure of a destination", () => {
  const [{ handle }] = destinationFailureRoutes;

  async function failureOf(groups: object[], lastFailure?: object) {
    const deadLetters = {
      groups: () => groups,
      group: (_: string, id: string) => {
        const group = groups.find((it) => (it as { id: string }).id === id);
        return group && { ...group, responses: [{ at: 1, response: { status: 400 } }] };
      },
    };
    const deps = {
      catalog: { destinations: { get: () => ({ id: "d" }) } },
      limiters: createLimiters(0),
      pipeline: { status: () => ({ lastFailure }), deadLetters },
    };
    return (await handle({ deps, workspaceId: "w", params: { id: "d" } } as never)) as any;
  }
  const group = (id: string, lastAt: number, stage = "deliver") => ({
    ...{ id, lastAt, stage, reason: `Reason ${id}` },
  });

  test("is that of its latest dead letter that a receiver refused, after a restart", async () => {
    expect(await failureOf([])).toStrictEqual({});
    const groups = [group("a", 1), group("b", 5), group("c", 9, "transform"), group("d", 3)];
    expect(await failureOf(groups)).toStrictEqual({
      failure: { at: isoOf(5), reason: "Reason b", response: { status: 400 } },
    });
    expect(await failureOf([group("c", 9, "transform")])).toStrictEqual({});
  });

  test("is the latest one of those that are stored and of those since the start", async () => {
    const late = { at: 9, reason: "Late" };
    expect(await failureOf([group("a", 5)], late)).toStrictEqual({
      failure: { at: isoOf(9), reason: "Late" },
    });
    expect((await failureOf([group("a", 10)], late)).failure.reason).toBe("Reason a");
  });
});

test("log lines of code are those of the filter, 100 unless the request says how many", async () => {
  const [{ handle }] = codeLogRoutes;
  const asked: unknown[] = [];
  const numbered: unknown[] = [];
  const line = { transformationId: "t", text: "a", destinationId: "d" };
  const deps = {
    limiters: createLimiters(0),
    pipeline: {
      codeLogs: (...question: unknown[]) => {
        asked.push(question);
        return ["v1", "v1", "v2"].map((transformationVersionId, n) => ({
          ...{ ...line, id: `${9 - n}`, at: n, transformationVersionId },
        }));
      },
    },
    catalog: { code: { revisionNumber: (id: object) => numbered.push(id) } },
  };
  const answerTo = async (query: object) =>
    (await handle({ deps, workspaceId: "w", query } as never)) as any;
  const { lines, ...rest } = await answerTo({ text: "a" });
  expect(lines.map((it: any) => [it.id, it.at, it.revision])).toEqual([
    ["9", isoOf(0), 1],
    ["8", isoOf(1), 1],
    ["7", isoOf(2), 2],
  ]);
  expect(rest).toStrictEqual({});
  // The number of a revision is computed once.
  expect(numbered).toEqual(["v1", "v2"].map((versionId) => ({ id: "t", versionId })));
  expect((await answerTo({ limit: 2 })).lines).toHaveLength(2);
  expect(asked).toEqual([
    ["w", { text: "a" }, 100],
    ["w", {}, 2],
  ]);
});
