import { expect, test } from "bun:test";
import { join } from "node:path";
import { copyCatalog, copyDeadLetters, writeLaneCursors } from "../../src/backup/copy.ts";
import type { Live } from "../../src/catalog/live.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { LetterTables } from "../../src/pipeline/ledger/letter-tables.ts";
import type { NewLetter } from "../../src/pipeline/model/dead-letter.ts";
import { covers } from "../../src/pipeline/model/routes.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import type { Store } from "../../src/store/store.ts";
import { freshDirectory, logger } from "../catalog/_setup.ts";

test("copied connections deliver from the beginning of the new logs, whatever the names of the old ones", async () => {
  await using stack = new AsyncDisposableStack();
  const [old, made] = [await freshDirectory(), await freshDirectory()];
  const before = await openCatalog({ directory: old, logger });
  const { id } = await before.workspaces.create("Acme");
  const source = await before.sources.create(id, { name: "Shop" });
  const connect = async (enabled: boolean) => {
    const input = { name: "Sink", type: "file", config: {} };
    const { id: destinationId } = await before.destinations.create(id, input);
    const pair = { sourceId: source.id, destinationId };
    const made = await before.connections.create(id, pair, { "0": 5_000 });
    if (!enabled) await before.connections.update(id, made.id, { enabled }, { "0": 6_000 });
    return destinationId;
  };
  const [live, paused] = [await connect(true), await connect(false)];
  await before.close();

  const open = (of: string) => {
    const store = openStore({ path: join(of, "catalog.mdb"), name: "The catalog", logger });
    stack.defer(() => store.close());
    return store;
  };
  await copyCatalog(open(old), open(made), { "0": 3 });
  const after = await openCatalog({ directory: made, logger });
  stack.defer(() => after.close());
  const delivers = (destinationId: string, sequence: number) =>
    covers(after.live.lane(destinationId)!.connections[0]!, "0", sequence);
  expect([0, 2, 3, 9_000].map((it) => delivers(live, it))).toEqual([true, true, true, true]);
  expect([0, 2, 3, 9_000].map((it) => delivers(paused, it))).toEqual([true, true, false, false]);
});

async function openLedgers(stack: AsyncDisposableStack, count: number): Promise<Store[]> {
  const path = await freshDirectory();
  return Array.from({ length: count }, (_, n) => {
    const store = openStore({ path: join(path, `${n}`), name: "The ledger", logger });
    stack.defer(() => store.close());
    return store;
  });
}

function letter(n: number, over: Partial<NewLetter>): NewLetter {
  return {
    ...{ id: `0000000${n}`, workspaceId: "w", destinationId: "d", sourceId: "s", messageId: "m" },
    ...{ stage: "deliver", reason: "HTTP 422", attempts: 1, user: "u", type: "track", text: "{}" },
    ...{ receivedAt: 0, createdAt: 1_000 + n, status: 422 },
    ...over,
  };
}

test("copied dead letters keep the responses of receivers, and are counted in their groups", async () => {
  await using stack = new AsyncDisposableStack();
  const [old, one, two] = (await openLedgers(stack, 3)) as [Store, Store, Store];
  const refused = { status: 422, body: "No such id", headers: { server: "a" } };
  const letters = [
    ...[letter(1, { response: refused }), letter(2, { user: "v" }), letter(3, {})],
    ...[letter(4, { response: { ...refused, body: "Too long" } })],
  ];
  const requeued = { letter: letter(9, { user: "v" }), replayedAt: 5 };
  const before = new LetterTables(old);
  const replays = old.table("replays");
  await old.change(() => {
    for (const it of letters) before.put(it);
    replays.put(["w", "9"], requeued);
  });
  const copied = await copyDeadLetters(old, ({ user }) => (user === "u" ? one : two));
  expect(copied).toBe(5);

  const tables = new LetterTables(one);
  const responsesOf = (ids: number[], from = tables) =>
    ids.map((n) => from.groups.detailsOf(from.get("w", `0000000${n}`)!).response);
  expect(responsesOf([1, 3, 4])).toEqual([
    refused,
    { ...refused, body: "Too long", isSample: true },
    { ...refused, body: "Too long" },
  ]);
  expect(responsesOf([2], new LetterTables(two))).toEqual([{ status: 422 }]);
  const [group] = tables.groups.of({ workspaceId: "w", destinationId: "d" });
  expect(group).toMatchObject({ count: 3, firstAt: 1_001, lastAt: 1_004 });
  expect([...two.table("replays").getRange({})].map(({ value }) => value)).toEqual([requeued]);
  // An import that is repeated copies them once.
  expect(await copyDeadLetters(old, ({ user }) => (user === "u" ? one : two))).toBe(5);
  expect([...tables.groups.of({ workspaceId: "w", destinationId: "d" })]).toEqual([group!]);
});

test("each destination gets a position in each new log, with the events that it lacks", async () => {
  await using stack = new AsyncDisposableStack();
  const [one, two] = (await openLedgers(stack, 2)) as [Store, Store];
  const live = {
    lanes: () => [
      { destination: { id: "d" }, connections: [{ id: "c1" }, { id: "c2" }] },
      { destination: { id: "e" }, connections: [] },
    ],
  } as unknown as Live;
  const placed = new Map([
    ["p0", { keys: ["a", "b", "c"], sequences: [3, 5, 6], end: 8 }],
    ["p1", { keys: [], sequences: [], end: 4 }],
  ]);
  const unsettled = new Map([["d", new Set(["a", "c"])]]);
  await writeLaneCursors(live, unsettled, placed, (log) => (log === "p0" ? one : two));
  const records = (store: Store) =>
    [...store.table("lanes").getRange({})].map(({ key, value }) => [key, value]);
  expect(records(one)).toEqual([
    ["d", { logs: { p0: { next: 6, pending: [3] } }, known: { c1: {}, c2: {} } }],
    ["e", { logs: { p0: { next: 8, pending: [] } }, known: {} }],
  ]);
  expect(records(two)).toEqual([
    ["d", { logs: { p1: { next: 4, pending: [] } }, known: { c1: {}, c2: {} } }],
    ["e", { logs: { p1: { next: 4, pending: [] } }, known: {} }],
  ]);
});

test("a destination with too many undelivered events before a delivered one stops the copy", async () => {
  await using stack = new AsyncDisposableStack();
  const [store] = await openLedgers(stack, 1);
  const live = {
    lanes: () => [{ destination: { id: "d" }, connections: [] }],
  } as unknown as Live;
  const copy = (owed: number) => {
    const keys = Array.from({ length: owed + 1 }, (_, n) => `${n}`);
    const placed = new Map([["p0", { keys, sequences: keys.map(Number), end: owed + 1 }]]);
    const unsettled = new Map([["d", new Set(keys.slice(0, owed))]]);
    return writeLaneCursors(live, unsettled, placed, () => store!);
  };
  await copy(100_000);
  await expect(copy(100_001)).rejects.toThrow("let it catch up first");
});
