import { describe, expect, test } from "bun:test";
import { DeadLetters } from "../../src/pipeline/dead-letters/dead-letters.ts";
import type { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import { DEAD_LETTERS_PAGE_CHARS_MAX } from "../../src/pipeline/ledger/letter-tables.ts";
import type { LetterGroupDetails, StoredLetter } from "../../src/pipeline/model/dead-letter.ts";

/** Dead letters of several ledgers, as the API shows them. */

const letter = (id: string, over: Partial<StoredLetter> = {}) =>
  ({
    ...{ id, workspaceId: "w", destinationId: "d", sourceId: "s", messageId: "m", text: "{}" },
    ...{ stage: "deliver", reason: "No", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 1, createdAt: 2 },
    ...over,
  }) as StoredLetter;

interface Contents {
  letters?: StoredLetter[];
  /** Id of the last letter that a scan reads, if it does not read all. */
  reached?: string;
  groups?: LetterGroupDetails[];
}

function ledgerOf({ letters = [], reached, groups = [] }: Contents) {
  const scans: unknown[] = [];
  const ledger = {
    letters: {
      scan(workspaceId: string, filter: object, scan: object) {
        scans.push([workspaceId, filter, scan]);
        const read = letters.filter(({ id }) => reached === undefined || id <= reached);
        return { ids: read.map(({ id }) => id), seen: read.length, reached };
      },
      get: (_: string, id: string) => letters.find((it) => it.id === id),
      countOf: () => letters.length,
      counts: () => [{ workspaceId: "w", destinationId: "d", count: groups.length }].values(),
      groups: {
        of: () => groups.map(({ responses: _, ...group }) => group).values(),
        get: (_: string, id: string) => groups.find((it) => it.id === id),
        detailsOf: ({ id }: StoredLetter) => ({ groupId: `group of ${id}` }),
      },
    },
  } as unknown as Ledger;
  return { ledger, scans };
}

function setUp(...contents: Contents[]) {
  const all = contents.map(ledgerOf);
  const ledgers = all.map(({ ledger }) => ledger);
  const woken: string[][] = [];
  const wake = (ids: readonly string[]) => void woken.push([...ids]);
  const letters = new DeadLetters(
    () => ledgers,
    wake,
    () => 77,
    ["headers"],
  );
  return { letters, ledgers, woken, scans: all.map(({ scans }) => scans) };
}

const lettersOf = (ids: string) => [...ids].map((id) => letter(id));

describe("a page of dead letters", () => {
  /** Ids of the letters of each ledger, and after `|` the one up to which it reads. */
  const cases: [ledgers: string[], count: number, ids: string, reached: string | undefined][] = [
    [["ad", "bc"], 9, "abcd", undefined],
    [["ad", "bc"], 4, "abcd", undefined],
    [["ad", "bc"], 3, "abc", "c"],
    // A ledger that has stopped may have further letters behind this place.
    [["ad", "bce|c"], 9, "abc", "c"],
    [["adz|d", "bce|b"], 9, "ab", "b"],
    [["adz|d", ""], 1, "a", "a"],
    [["|c", "d"], 9, "", "c"],
    [[], 9, "", undefined],
  ];
  test.each(cases)(
    "of the ledgers %j has at most %d letters: %s, up to %p",
    (ledgers, count, ids, reached) => {
      const contents = ledgers.map((text): Contents => {
        const [own = "", reached] = text.split("|");
        return { letters: lettersOf(own), ...(reached !== undefined && { reached }) };
      });
      const { letters } = setUp(...contents);
      const found = letters.find("w", { count });
      expect([found.letters.map(({ id }) => id).join(""), found.reached]).toEqual([ids, reached]);
      const range = { after: "", before: "~", count };
      expect(letters.ids("w", {}, range)).toMatchObject({ ids: [...ids], reached });
    },
  );

  test("asks each ledger for the letters of the filter behind a place, and until now for their ids", () => {
    const { letters, scans } = setUp({ letters: lettersOf("a") }, { letters: lettersOf("bc") });
    letters.find("w", { after: "x", count: 5, reason: "No" });
    expect(scans[0]![0]).toMatchObject(["w", { reason: "No" }, { after: "x", count: 5 }]);
    letters.find("w", { count: 5 });
    expect(scans[1]![1]).toMatchObject(["w", {}, { after: "" }]);
    const { seen } = letters.ids("v", { groupId: "g" }, { after: "y", before: "z", count: 6 });
    expect(seen).toBe(3);
    expect(scans[1]![2]).toEqual([
      ...["v", { groupId: "g" }, { after: "y", before: "z", count: 6, now: 77 }],
    ]);
  });

  test("ends with the letter that reaches the bound of characters", () => {
    const large = (id: string) => letter(id, { text: "x".repeat(DEAD_LETTERS_PAGE_CHARS_MAX / 2) });
    const { letters } = setUp({ letters: ["a", "b", "c"].map(large) });
    const { letters: found, reached } = letters.find("w", { count: 9 });
    expect([found.length, reached]).toEqual([2, "b"]);
  });

  test("leaves out letters that went meanwhile", () => {
    const { letters, ledgers } = setUp({ letters: lettersOf("ab") });
    ledgers[0]!.letters.get = (_, id) => (id === "a" ? undefined : letter(id));
    expect(letters.find("w", { count: 9 }).letters.map(({ id }) => id)).toEqual(["b"]);
  });
});

test("a dead letter is found in any ledger, and they are counted in all", () => {
  const { letters } = setUp({ letters: lettersOf("a") }, { letters: lettersOf("bc") });
  expect(letters.get("w", "b")).toMatchObject({ id: "b", groupId: "group of b" });
  expect(letters.get("w", "x")).toBeUndefined();
  expect(letters.count("w")).toBe(3);
});

test("a dead letter shows its event, and nothing that only a replay needs", () => {
  const shown = (over: Partial<StoredLetter>) =>
    setUp({ letters: [letter("a", over)] }).letters.get("w", "a")!;
  const internal = { original: "{}", programId: "p", name: "Order", status: 400, code: "7" };
  expect(shown({ ...internal, responseId: "r", line: 3 })).toEqual({
    ...{ id: "a", workspaceId: "w", destinationId: "d", sourceId: "s", messageId: "m" },
    ...{ stage: "deliver", reason: "No", attempts: 1, receivedAt: 1, createdAt: 2 },
    ...{ line: 3, event: {}, groupId: "group of a" },
  });
  const attempts = [
    { at: 1, durationMs: 2 },
    { at: 3, durationMs: 4, reason: "Busy" },
  ];
  expect(shown({ failedAttempts: attempts }).failedAttempts).toEqual([
    { at: 1, durationMs: 2, reason: "No" },
    { at: 3, durationMs: 4, reason: "Busy" },
  ]);
});

test.each([
  ["an output of code", { transformationVersionId: "v" }, { n: 1 }],
  ["an event that was sent as it came", {}, { headers: 1, n: 1 }],
  [
    "an event over which code failed",
    { stage: "transform", transformationVersionId: "v" },
    { headers: 1, n: 1 },
  ],
])("the members that shape a request are hidden or shown: %s", (_, over, event) => {
  const text = '{"headers":1,"n":1}';
  const { letters } = setUp({ letters: [letter("a", { ...(over as object), text })] });
  expect(letters.get("w", "a")!.event).toEqual(event);
});

describe("groups of several ledgers", () => {
  const group = (id: string, over: Partial<LetterGroupDetails> = {}) =>
    ({
      ...{ id, workspaceId: "w", destinationId: "d", stage: "deliver", reason: `Reason ${id}` },
      ...{ count: 1, firstAt: 5, lastAt: 5, responses: [] },
      ...over,
    }) as LetterGroupDetails;

  test("are one, with the reason of the first letter and the time of the last", () => {
    const { letters } = setUp(
      { groups: [group("a", { count: 2, firstAt: 4, lastAt: 6, reason: "Later" })] },
      { groups: [group("a", { count: 3, firstAt: 3, lastAt: 5, reason: "First" }), group("b")] },
    );
    const { responses: _, ...one } = group("a", { count: 5, firstAt: 3, lastAt: 6 });
    expect(letters.groups("w")).toMatchObject([
      { ...one, reason: "First" },
      { id: "b", count: 1 },
    ]);
  });

  test("come by their number of letters, then by the latest letter", () => {
    const groups = [
      group("a", { lastAt: 5 }),
      group("b", { lastAt: 7 }),
      group("c", { count: 2, lastAt: 1 }),
      group("d", { lastAt: 6 }),
    ];
    const { letters } = setUp({ groups });
    expect(letters.groups("w").map(({ id }) => id)).toEqual(["c", "b", "d", "a"]);
    expect(letters.groups("w", "d")).toHaveLength(4);
    expect(letters.groups("w", "e")).toEqual([]);
  });

  test("have no first time if one of them is of an earlier version", () => {
    const { firstAt: _, ...old } = group("a", { reason: "Old" });
    const { letters } = setUp({ groups: [group("a")] }, { groups: [old as LetterGroupDetails] });
    const [merged] = letters.groups("w");
    expect(merged).not.toHaveProperty("firstAt");
    expect(merged).toMatchObject({ reason: "Old", count: 2 });
  });

  test("have the responses of all, the latest first", () => {
    const answer = (at: number) => ({ at, response: { status: at } });
    const { letters } = setUp(
      { groups: [group("a", { responses: [answer(9), answer(3)] })] },
      { groups: [group("a", { responses: [answer(7)] })] },
    );
    expect(letters.group("w", "a")!.responses.map(({ at }) => at)).toEqual([9, 7, 3]);
    expect(letters.group("w", "a")!.count).toBe(2);
    expect(letters.group("w", "x")).toBeUndefined();
  });
});

test("dead letters are replayed and purged in each ledger, in as many transactions as they take", async () => {
  const { letters, ledgers, woken } = setUp({}, {});
  const asked: unknown[] = [];
  for (const [n, ledger] of ledgers.entries()) {
    ledger.requeue = async (workspaceId, ids, now, record) => {
      asked.push([n, workspaceId, [...ids], now, record?.id]);
      // One ledger handles two ids in a transaction, and the other all.
      const done = n === 0 ? Math.min(2, ids.length) : ids.length;
      return { destinationIds: n === 0 ? ["d"] : [], done };
    };
    ledger.purge = async (_, ids) => ({ purged: n, done: ids.length });
  }
  const record = { id: "job" } as never;
  expect(await letters.replay("w", ["a", "b", "c", "a"], record)).toEqual({ replayed: 2 });
  const calls = asked.filter(([n]: any) => n === 0);
  expect(calls).toEqual([
    [0, "w", ["a", "b", "c"], 77, "job"],
    [0, "w", ["c"], 77, "job"],
  ]);
  expect(asked).toHaveLength(3);
  expect(woken.toSorted()).toEqual([[], ["d"], ["d"]]);
  expect(await letters.purge("w", ["a"])).toEqual({ purged: 1 });
  expect(await letters.purge("w", [])).toEqual({ purged: 0 });
});
