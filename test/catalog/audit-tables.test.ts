import { expect, onTestFinished, setSystemTime, test } from "bun:test";
import type { AuditEntry, AuditFilter } from "../../src/catalog/audit/audit-entry.ts";
import { AUDIT_BOUNDS, AuditTables } from "../../src/catalog/audit/audit-log.ts";
import { AUDIT_ENTRIES_SCANNED_MAX } from "../../src/catalog/audit/limits.ts";
import { newId } from "../../src/catalog/ids.ts";
import { openStore } from "../../src/catalog/store.ts";
import { freshDirectory, logger } from "./_setup.ts";

const [workspaceId, other] = [newId(), newId()];
const [token, member, source, destination] = [newId(), newId(), newId(), newId()];
const BEGIN = Date.now() + 60_000;

/** Entry of the minute `minute`. */
function entryAt(minute: number, more: Partial<AuditEntry> = {}): AuditEntry {
  const at = BEGIN + minute * 60_000;
  const common = { workspaceId, action: "source.update", actor: {}, changes: [] };
  return { id: newId(at), at, ...common, ...more };
}

/** Audit tables with entries in an empty store, and views of them that have other bounds. */
async function tablesWith(entries: AuditEntry[]) {
  const store = openStore(await freshDirectory(), logger);
  onTestFinished(() => store.close());
  const boundedBy = (bounds: Partial<typeof AUDIT_BOUNDS>) =>
    new AuditTables(store, { ...AUDIT_BOUNDS, ...bounds });
  const tables = boundedBy({});
  await store.change(() => {
    for (const entry of entries) tables.add(entry);
  });
  const sizes = store.table<{ bytes: number }, string>("audit-sizes");
  return {
    store,
    tables,
    boundedBy,
    bytesOf: (division: string) => sizes.get(division)?.bytes ?? 0,
    find: (filter: AuditFilter = {}, page = {}) =>
      tables.find(workspaceId, filter, { count: 100, others: false, ...page }),
  };
}

const minutesOf = (entries: AuditEntry[]) => entries.map(({ at }) => (at - BEGIN) / 60_000);

test("a search finds the entries that meet its filter, newest first", async () => {
  const { find } = await tablesWith([
    entryAt(1, { action: "source.create", resource: { type: "source", id: source } }),
    entryAt(2, { actor: { tokenId: token }, resource: { type: "source", id: source } }),
    entryAt(3, { actor: { tokenId: token, memberId: member } }),
    entryAt(4, { action: "sources.update", concerns: [destination, source] }),
    entryAt(5, { action: "token.refuse", actor: { tokenId: token }, requests: 1 }),
    entryAt(6, { workspaceId: other, actor: { tokenId: token } }),
    entryAt(7, { workspaceId: "", action: "token.refuse", requests: 1 }),
  ]);
  const { at } = entryAt(3);
  const table: [AuditFilter, minutes: number[]][] = [
    [{}, [5, 4, 3, 2, 1]],
    [{ action: "source" }, [3, 2, 1]],
    [{ action: "source.create" }, [1]],
    [{ action: "sour" }, []],
    [{ actor: token }, [5, 3, 2]],
    [{ actor: member }, [3]],
    [{ resource: source }, [4, 2, 1]],
    [{ resource: destination }, [4]],
    // A token is found by its own id as an actor, not as an item.
    [{ resource: token }, []],
    [{ actor: source }, []],
    [{ resource: source, actor: token }, [2]],
    [{ resource: source, action: "sources" }, [4]],
    [{ from: at }, [5, 4, 3]],
    [{ from: at + 1 }, [5, 4]],
    [{ to: at }, [2, 1]],
    [{ to: at + 1 }, [3, 2, 1]],
    [{ from: at, to: at + 1, actor: token }, [3]],
  ];
  for (const [filter, minutes] of table) {
    expect([filter, minutesOf(find(filter).entries)]).toEqual([filter, minutes]);
  }
  // The first workspace also shows tokens that no workspace has.
  expect(minutesOf(find({}, { others: true }).entries)).toEqual([7, 5, 4, 3, 2, 1]);
  expect(minutesOf(find({ action: "token" }, { others: true }).entries)).toEqual([7, 5]);
});

test("pages of a search continue where the last one ended, over more entries than one read has", async () => {
  const resource = { type: "source", id: source };
  const entries = Array.from({ length: 230 }, (_, minute) => {
    return entryAt(minute, { resource, ...(minute % 3 === 0 && { requests: 1 }) });
  });
  const { find } = await tablesWith(entries);
  const all = minutesOf(entries).reverse();
  for (const filter of [{}, { resource: source }]) {
    const first = find(filter, { count: 130 });
    expect(minutesOf(first.entries)).toEqual(all.slice(0, 130));
    expect(first.reached).toBe(first.entries.at(-1)!.id);
    const second = find(filter, { count: 130, after: first.reached });
    expect(minutesOf(second.entries)).toEqual(all.slice(130));
    expect(second.reached).toBeUndefined();
    // A search that ends with the last entry has no page after it.
    expect(find(filter, { count: 230 }).reached).toBeUndefined();
    // An end of the time before the place of the last page comes first.
    const to = entries[50]!.at;
    expect(minutesOf(find({ ...filter, to }, { after: first.reached }).entries)[0]).toBe(49);
  }
});

test("an outcome replaces its entry in place, unless the entry was deleted", async () => {
  const resource = { type: "source", id: source };
  const begun = entryAt(1, { outcome: "unknown", resource });
  const { store, tables, find, bytesOf } = await tablesWith([begun, entryAt(2)]);
  const before = bytesOf(workspaceId);
  const done: AuditEntry = { ...begun, outcome: "done" };
  await store.change(() => tables.replace(done));
  expect(find({ resource: source }).entries).toEqual([done]);
  // "done" is three letters shorter.
  expect(bytesOf(workspaceId)).toBe(before - 3);
  const gone = entryAt(3, { resource });
  await store.change(() => tables.replace(gone));
  expect(minutesOf(find().entries)).toEqual([2, 1]);
  expect([bytesOf(workspaceId), bytesOf("all")]).toEqual([before - 3, before - 3]);
});

test("entries are deleted once their group, or all groups, are one byte above the bound", async () => {
  const refused = { action: "token.refuse", requests: 1 };
  const entries = [
    ...[1, 2, 3].map((minute) => entryAt(minute, { workspaceId: other })),
    ...[4, 5, 6, 7].map((minute) => entryAt(minute)),
    ...[8, 9, 10].map((minute) => entryAt(minute, refused)),
  ];
  const now = BEGIN + 3_600_000;
  const groups = [
    { bound: "workspaceBytes", division: workspaceId, oldest: 4 },
    { bound: "refusalsBytes", division: `${workspaceId} refused`, oldest: 8 },
    // All together: the largest group loses an entry.
    { bound: "bytes", division: "all", oldest: 4 },
  ];
  for (const { bound, division, oldest } of groups) {
    const { store, boundedBy, bytesOf, find } = await tablesWith(entries);
    const bytes = bytesOf(division);
    expect(boundedBy({ [bound]: bytes }).isOverBounds(now)).toBe(false);
    const tight = boundedBy({ [bound]: bytes - 1 });
    expect(tight.isOverBounds(now)).toBe(true);
    expect(await store.change(() => tight.trim(now, 100))).toBe(1);
    expect(tight.isOverBounds(now)).toBe(false);
    const left = [4, 5, 6, 7, 8, 9, 10].filter((minute) => minute !== oldest);
    const found = find();
    expect([bound, minutesOf(found.entries).reverse()]).toEqual([bound, left]);
    // Since then, all entries of both groups are kept; the second one began at minute 8.
    expect(found.keptSince).toBe(Math.max(entryAt(oldest).at + 1, entryAt(8).at));
    const sum = [workspaceId, `${workspaceId} refused`, other].reduce(
      (n, it) => n + bytesOf(it),
      0,
    );
    expect(bytesOf("all")).toBe(sum);
  }
});

test("an entry that is added above a bound deletes at most four old ones", async () => {
  const entries = Array.from({ length: 20 }, (_, minute) => entryAt(minute));
  const { store, boundedBy, bytesOf, find } = await tablesWith(entries);
  const tight = boundedBy({ workspaceBytes: bytesOf(workspaceId) / 2 });
  await store.change(() => tight.add(entryAt(20)));
  expect(minutesOf(find().entries)).toEqual(Array.from({ length: 17 }, (_, n) => 20 - n));
  // Deletes a limited number at once, and in the end no more than needed.
  const now = entryAt(20).at;
  expect(await store.change(() => tight.trim(now, 2))).toBe(2);
  expect(await store.change(() => tight.trim(now, 100))).toBe(5);
  expect(minutesOf(find().entries).at(-1)).toBe(11);
});

test("entries that were deleted are all older than the time since when all are kept, whatever the clock did", async () => {
  const { store, boundedBy, bytesOf, find } = await tablesWith([5, 3, 4].map((it) => entryAt(it)));
  const tight = boundedBy({ workspaceBytes: bytesOf(workspaceId) / 2 });
  expect(await store.change(() => tight.trim(BEGIN, 100))).toBe(2);
  expect(minutesOf(find().entries)).toEqual([4]);
  expect(find().keptSince).toBe(entryAt(5).at + 1);
});

test("a search by time finds the entries of a clock that was set back, and those before them", async () => {
  const early = [1, 2, 3].map((minute) => entryAt(minute));
  // The clock was at minute 9 and then at minute 2: ids go on from the last one.
  const back = [9, 2, 5].map((minute) => ({ ...entryAt(minute), id: newId(entryAt(9).at) }));
  const { find } = await tablesWith([...early, ...back]);
  const at = (minute: number) => entryAt(minute).at;
  const table: [AuditFilter, minutes: number[]][] = [
    [{ from: at(3) }, [5, 9, 3]],
    [{ to: at(3) }, [2, 2, 1]],
    [{ from: at(2), to: at(6) }, [5, 2, 3, 2]],
  ];
  for (const [filter, minutes] of table) {
    expect([filter, minutesOf(find(filter).entries)]).toEqual([filter, minutes]);
  }
});

test("entries above the age are neither found nor kept", async () => {
  const resource = { type: "source", id: source };
  const { store, boundedBy, find } = await tablesWith([
    entryAt(1, { resource, concerns: [destination, "no id"] }),
    ...[2, 3].map((minute) => entryAt(minute, { actor: { tokenId: token } })),
  ]);
  const indexed = () =>
    [...store.table<string, string[]>("audit-entries-by-item").getKeys({})].map(([item]) => item!);
  expect(indexed().sort()).toEqual([source, destination, token, token].sort());
  const at = entryAt(2).at;
  const aged = boundedBy({ ageMs: 60_000 });
  expect(aged.isOverBounds(at + 60_000)).toBe(true);
  expect(await store.change(() => aged.trim(at + 60_000, 100))).toBe(1);
  expect(minutesOf(find().entries)).toEqual([3, 2]);
  expect(indexed()).toEqual([token, token]);
  expect(aged.isOverBounds(at + 60_000)).toBe(false);
  expect(aged.isOverBounds(at + 60_001)).toBe(true);
  // Times of real entries are in the past: these are a minute ahead.
  const old = boundedBy({ ageMs: 1 });
  const found = old.find(workspaceId, {}, { count: 10, others: false });
  expect(minutesOf(found.entries)).toEqual([3, 2]);
});

test("a clock that is ahead hides and deletes no entry", async () => {
  onTestFinished(() => {
    setSystemTime();
  });
  const { store, boundedBy } = await tablesWith([entryAt(1)]);
  const aged = boundedBy({ ageMs: 60_000 });
  const ahead = BEGIN + 86_400_000;
  setSystemTime(ahead);
  await store.change(() => aged.add({ ...entryAt(0), id: newId(ahead), at: ahead }));
  const found = aged.find(workspaceId, {}, { count: 10, others: false });
  expect(found.entries.map(({ at }) => at)).toEqual([ahead, entryAt(1).at]);
});

test("a workspace without entries tells no time since when all are kept", async () => {
  const { tables } = await tablesWith([entryAt(1)]);
  expect(tables.find(other, {}, { count: 10, others: true })).toEqual({ entries: [] });
});

test("a search stops after a number of entries, and continues from there", async () => {
  const entries = Array.from({ length: AUDIT_ENTRIES_SCANNED_MAX + 1 }, (_, n) => entryAt(n));
  const { find } = await tablesWith(entries);
  const found = find({ action: "none" });
  expect([found.entries, found.reached]).toEqual([[], entries[1]!.id]);
  const rest = find({ action: "source" }, { after: found.reached });
  expect([minutesOf(rest.entries), rest.reached]).toEqual([[0], undefined]);
});

test("an entry counts 96 bytes for each item by which it is found", async () => {
  const { bytesOf } = await tablesWith([
    entryAt(1, { concerns: [source, source] }),
    entryAt(1, { workspaceId: other, concerns: [source, destination] }),
  ]);
  expect(bytesOf(other) - bytesOf(workspaceId)).toBe(96);
});
