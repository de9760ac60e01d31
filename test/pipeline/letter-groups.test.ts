import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { groupNameOf } from "../../src/pipeline/ledger/group-name.ts";
import { isGroupOf, LetterGroups } from "../../src/pipeline/ledger/letter-groups.ts";
import { firstIdAt, firstKeys, keyRange } from "../../src/pipeline/ledger/letter-keys.ts";
import { responseIdOf } from "../../src/pipeline/ledger/letter-responses.ts";
import { takeChars } from "../../src/pipeline/ledger/letter-tables.ts";
import { type RepetitionLot, RepetitionTable } from "../../src/pipeline/ledger/repetition-table.ts";
import { RequeuedLetters } from "../../src/pipeline/ledger/requeued-letters.ts";
import type { NewLetter, StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { quiet } from "../log/support.ts";

const path = mkdtempSync(join(tmpdir(), "pixelmill-groups-"));
const store = openStore({ path, name: "The store of groups", logger: quiet });
afterAll(async () => {
  await store.close();
  rmSync(path, { recursive: true });
});

const groups = new LetterGroups(store);
const requeued = new RequeuedLetters(store);
let destinations = 0;
let letters = 0;
/** Each test has a destination of its own. */
let d = "";
beforeEach(() => {
  d = `d${destinations++}`;
});

function letter(over: Partial<NewLetter> = {}): NewLetter {
  const id = `letter${String(letters++).padStart(4, "0")}`;
  return {
    ...{ id, workspaceId: "w", destinationId: d, sourceId: "s", messageId: id, text: "{}" },
    ...{ stage: "deliver", reason: "No", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: 5 },
    ...over,
  };
}

function add(...all: NewLetter[]) {
  return store.change(() => {
    for (const one of all) groups.add(one);
  });
}

const ofDestination = () => [...groups.of({ workspaceId: "w", destinationId: d })];

test("a group has the facts of its first letter, the time of its last one, and their number", async () => {
  const first = letter({ status: 422, code: "7", reason: `No ${"x".repeat(400)}` });
  const second = letter({ ...first, id: "letter", createdAt: 9 });
  await add(first, second, second);
  const [group, ...others] = ofDestination();
  expect(others).toEqual([]);
  expect(group).toEqual({
    ...{ id: `${d}.${groupNameOf(first)}`, workspaceId: "w", destinationId: d, stage: "deliver" },
    ...{ reason: first.reason.slice(0, 300), count: 2, firstAt: 5, lastAt: 9 },
    ...{ status: 422, code: "7" },
  });
  expect(groups.get("w", group!.id)).toEqual({ ...group!, responses: [] });
  expect(groups.get("other", group!.id)).toBeUndefined();
  expect(groups.get("w", "unknown")).toBeUndefined();
  expect([...groups.of({ workspaceId: "other", destinationId: d })]).toEqual([]);
});

test("letters of different stages, statuses or codes are in different groups", async () => {
  await add(
    letter(),
    letter({ stage: "transform" }),
    letter({ status: 422 }),
    letter({ code: "7" }),
  );
  expect(ofDestination().map(({ count }) => count)).toEqual([1, 1, 1, 1]);
  const facts = ofDestination().map(({ status, code }) => [status, code]);
  expect(facts).toContainEqual([422, undefined]);
  expect(facts).toContainEqual([undefined, "7"]);
});

test("a group ends with its last letter, and its responses with it", async () => {
  const [one, other] = [1, 2].map((n) => letter({ response: { status: 400, body: `No ${n}` } }));
  await add(one!, other!);
  const { id } = ofDestination()[0]!;
  const bodies = () =>
    groups.get("w", id)?.responses.map(({ at, response }) => [at, response.body]);
  expect(bodies()).toEqual([
    [5, "No 2"],
    [5, "No 1"],
  ]);
  await store.change(() => groups.remove(letter()));
  await store.change(() => groups.remove(one!));
  await store.change(() => groups.remove(one!));
  expect(groups.get("w", id)?.count).toBe(1);
  expect(bodies()).toHaveLength(2);
  await store.change(() => groups.remove(other!));
  expect([ofDestination(), bodies()]).toEqual([[], undefined]);
  const responses = store.table<unknown, [string, string]>("letter-responses");
  expect([...responses.getRange(keyRange(id))]).toEqual([]);
});

test("a letter shows its own response, else one of its group with its status and code, else these", async () => {
  const response = { status: 400, code: "7", body: "No" };
  const own = letter({ status: 400, code: "7", response, responseId: responseIdOf(response) });
  const alike = letter({ status: 400, code: "7" });
  const statusOnly = letter({ status: 400 });
  const codeOnly = letter({ code: "7" });
  const neither = letter();
  await add(own, alike, statusOnly, codeOnly, neither);
  const detailsOf = (one: StoredLetter) => {
    const { groupId, ...details } = groups.detailsOf(one);
    expect(groupId).toBe(`${d}.${groupNameOf(one)}`);
    return details;
  };
  expect(detailsOf(own)).toEqual({ response });
  expect(detailsOf(alike)).toEqual({ response: { ...response, isSample: true } });
  expect(detailsOf(statusOnly)).toEqual({ response: { status: 400 } });
  expect(detailsOf(codeOnly)).toEqual({ response: { code: "7" } });
  expect(detailsOf(neither)).toEqual({});
  expect(groups.detailsOf(letter())).toEqual({});
});

test("the ids of a group's letters come in their order, after an id, and of one workspace alone", async () => {
  const [a, b, c] = [letter(), letter(), letter()];
  await add(b, a, c);
  const { id } = ofDestination()[0]!;
  expect([...groups.lettersOf("w", id, "")]).toEqual([a.id, b.id, c.id]);
  expect([...groups.lettersOf("w", id, a.id)]).toEqual([b.id, c.id]);
  expect([...groups.lettersOf("other", id, "")]).toEqual([]);
});

test("a group is of the destination whose whole id it begins with", () => {
  expect(["d.x", "d1.x", "e.d.x", "d"].map((id) => isGroupOf("d", id))).toEqual([
    ...[true, false, false, false],
  ]);
});

test("a time sorts after the ids of older letters and before those of newer ones", () => {
  const at = 1_700_000_000_000;
  const idAt = (ms: number) => Bun.randomUUIDv7("hex", ms);
  expect(firstIdAt(at) < idAt(at)).toBe(true);
  expect(firstIdAt(at) > idAt(at - 1)).toBe(true);
  expect(firstIdAt(at + 0.5)).toBe(firstIdAt(at + 1));
  expect(firstIdAt(-5)).toBe("00000000-0000");
});

test("the first parts of keys are each found once", async () => {
  const table = store.table<number, [string, string]>("pairs");
  expect([...firstKeys(table)]).toEqual([]);
  const keys: [string, string][] = [
    ["a", "1"],
    ["a", "2"],
    ["b", "1"],
    ["ba", "3"],
  ];
  await store.change(() => {
    for (const key of keys) table.put(key, 1);
  });
  expect([...firstKeys(table)]).toEqual(["a", "b", "ba"]);
  const found = (...range: Parameters<typeof keyRange>) =>
    [...table.getKeys(keyRange(...range))].map(([, second]) => second);
  expect(found("a")).toEqual(["1", "2"]);
  expect(found("a", "1")).toEqual(["2"]);
  expect(found("a", "", 1)).toEqual(["1"]);
  expect(found("c")).toEqual([]);
});

test.each([
  [0, ["aaa"]],
  [3, ["aaa"]],
  [4, ["aaa", "bb"]],
  [6, ["aaa", "bb", "c"]],
  [99, ["aaa", "bb", "c"]],
])("texts of together %d characters include the one that reaches them", (charsMax, expected) => {
  const texts = ["aaa", "bb", "c"];
  expect(takeChars(charsMax, (text: string) => text.length, texts)).toEqual(expected);
});

test("requeued letters are found by their destination, up to a number or an id, until they are removed", async () => {
  const all = [letter({ text: "12345" }), letter({ text: "12", original: "123" }), letter()];
  const ids = all.map(({ id }) => id);
  expect([requeued.hasAtLeast(d, 1), requeued.some(d)]).toEqual([false, []]);
  await store.change(() => {
    for (const one of all) requeued.put({ letter: one, replayedAt: 7 });
  });
  expect([2, 3, 4].map((count) => requeued.hasAtLeast(d, count))).toEqual([true, true, false]);
  expect([requeued.has(d, ids[0]!), requeued.has("e", ids[0]!)]).toEqual([true, false]);
  expect(requeued.destinations()).toContain(d);
  const oldest = (count: number, bounds = {}, inFlight = new Set<string>()) =>
    requeued.oldest(d, inFlight, count, bounds).map((it) => it.letter.id);
  expect(oldest(2)).toEqual(ids.slice(0, 2));
  expect(oldest(9, { last: ids[1] })).toEqual(ids.slice(0, 2));
  expect(oldest(9, { charsMax: 5 })).toEqual(ids.slice(0, 1));
  expect(oldest(9, { charsMax: 6 })).toEqual(ids.slice(0, 2));
  expect(oldest(9, { charsMax: 11 })).toEqual(ids);
  expect(oldest(9, {}, new Set(ids.slice(1, 2)))).toEqual([ids[0]!, ids[2]!]);
  await store.change(() => requeued.remove(d, ids[0]!));
  expect(requeued.some(d).map((it) => it.letter.id)).toEqual(ids.slice(1));
});

test("a read of requeued letters continues behind those in flight, and begins anew when asked to", async () => {
  const all = Array.from({ length: 6 }, () => letter());
  const ids = all.map(({ id }) => id);
  const put = (some: NewLetter[]) =>
    store.change(() => {
      for (const one of some) requeued.put({ letter: one, replayedAt: 7 });
    });
  await put(all.slice(2));
  const inFlight = new Set<string>();
  const take = (count: number) => {
    const taken = requeued.oldest(d, inFlight, count).map((it) => it.letter.id);
    for (const id of taken) inFlight.add(id);
    return taken;
  };
  expect([take(1), take(1)]).toEqual([[ids[2]!], [ids[3]!]]);
  await put(all.slice(0, 2));
  // An older letter is not found before it is added to the table.
  expect(take(1)).toEqual([ids[4]!]);
  requeued.added([all[5]!]);
  requeued.added([letter({ destinationId: "other" })]);
  expect(take(0)).toEqual([]);
  requeued.rescan("other");
  expect(take(1)).toEqual([ids[5]!]);
  requeued.added([all[0]!]);
  expect([take(1), take(1)]).toEqual([[ids[0]!], [ids[1]!]]);
  inFlight.delete(ids[5]!);
  expect(take(1)).toEqual([ids[5]!]);
  for (const rescan of [() => requeued.rescan(d), () => requeued.rescan()]) {
    inFlight.delete(ids[2]!);
    rescan();
    expect(take(9)).toEqual([ids[2]!]);
  }
});

test("repetitions are found by log and sequence number, in the order of their logs", async () => {
  let changes = 0;
  const table = new RepetitionTable(store, async (apply) => {
    changes += 1;
    await store.change(apply);
  });
  expect([table.positions(), [...table.lots()]]).toEqual([{}, []]);
  const lots: RepetitionLot[] = [
    { log: "b", rows: [[3, "a", 1, 100]] },
    {
      log: "a",
      rows: [
        [4, "a", 1, 100],
        [9, "b", 2, 200],
      ],
    },
    { log: "a", rows: [[12, "a", 4, 300]] },
  ];
  await table.put(lots, [], { a: 13, b: 4 });
  expect(table.positions()).toEqual({ a: 13, b: 4 });
  expect([...table.lots()]).toEqual([lots[1]!, lots[2]!, lots[0]!]);
  expect(table.find("a", 4)).toEqual([4, "a", 1, 100]);
  expect(table.find("a", 9)).toEqual([9, "b", 2, 200]);
  expect(table.find("a", 12)).toEqual([12, "a", 4, 300]);
  for (const [log, sequence] of [
    ["a", 3],
    ["a", 5],
    ["a", 13],
    ["b", 2],
    ["c", 9],
  ] as const) {
    expect(table.find(log, sequence)).toBeUndefined();
  }
  await table.put([], [["a", 4]], { a: 20 });
  expect(table.find("a", 9)).toBeUndefined();
  expect([...table.lots()]).toHaveLength(2);
  expect([table.positions(), changes]).toEqual([{ a: 20 }, 2]);
});
