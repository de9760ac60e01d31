import { expect, onTestFinished, setSystemTime, test } from "bun:test";
import type { AuditBounds } from "../../src/catalog/audit/audit-log.ts";
import { type Caller, runAs } from "../../src/catalog/audit/caller.ts";
import { AUDIT_CHANGES_MAX, AUDIT_VALUE_CHARS_MAX } from "../../src/catalog/audit/limits.ts";
import { recordChanges } from "../../src/catalog/audit/recorded-store.ts";
import { verbOf } from "../../src/catalog/audit/recorded-tables.ts";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { newId } from "../../src/catalog/ids.ts";
import { openCatalog } from "../../src/catalog/open.ts";
import { openStore } from "../../src/catalog/store.ts";
import { openStore as openLocal } from "../../src/store/lmdb/lmdb-store.ts";
import { decodeValue } from "../../src/store/row-write.ts";
import { MemoryLog } from "../store/memory-log.ts";
import {
  destination,
  freshCatalog,
  freshDirectory,
  freshWorkspace,
  logger,
  publish,
  store,
} from "./_setup.ts";

const caller: Caller = { client: "192.0.2.1", route: "PUT /thing", requestId: "r1" };

const all = (catalog: Catalog, workspaceId: string, filter = {}) =>
  catalog.audit.find(workspaceId, filter, { count: 500 }).entries;

test("a change and its audit entry are one transaction: one that fails leaves no entry", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const source = await catalog.sources.create(workspaceId, { name: "Shop" });
  const before = all(catalog, workspaceId).length;
  await expect(
    catalog.connections.create(workspaceId, { sourceId: source.id, destinationId: "none" }, {}),
  ).rejects.toThrow("not found");
  expect(all(catalog, workspaceId)).toHaveLength(before);
});

test("a table of the catalog that the audit log does not know cannot be opened", async () => {
  const raw = openStore(await freshDirectory(), logger);
  onTestFinished(() => raw.close());
  const recorded = recordChanges(raw, { add() {}, showConfig: () => ({}) });
  expect(() => recorded.table("strangers")).toThrow("Expected the table strangers in");
});

test("all tables of a catalog are known to the audit log, as recorded or not", async () => {
  const directory = await freshDirectory();
  const catalog = await openCatalog({ directory, logger });
  await catalog.close();
  const local = openLocal({ path: `${directory}/catalog.mdb`, name: "C", logger });
  onTestFinished(() => local.close());
  const raw = openStore(await freshDirectory(), logger);
  onTestFinished(() => raw.close());
  const recorded = recordChanges(raw, { add() {}, showConfig: () => ({}) });
  const own = ["audit-entries", "audit-entries-by-item", "audit-sizes"];
  const names = local.tables().filter((name) => !own.includes(name));
  expect(names.length).toBeGreaterThan(40);
  for (const name of names) recorded.table(name);
});

test("an entry has the names that its token and member had then", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const person = { name: "Ada", email: "ada@example.com", permissions: [] };
  const member = await catalog.members.create(workspaceId, person);
  const input = { name: "laptop", permissions: [], memberId: member.id };
  const { token } = await catalog.tokens.create(workspaceId, input);
  await runAs({ ...caller, tokenId: token.id }, () =>
    catalog.sources.create(workspaceId, { name: "Shop" }),
  );
  await catalog.members.update(workspaceId, member.id, { name: "Grace" });
  const [entry] = all(catalog, workspaceId, { actor: member.id, action: "source" });
  expect(entry).toMatchObject({
    action: "source.create",
    actor: { tokenId: token.id, tokenName: "laptop", memberId: member.id, memberName: "Ada" },
    client: "192.0.2.1",
    request: { id: "r1", route: "PUT /thing" },
    resource: { type: "source", name: "Shop" },
  });
});

test("a token that revokes itself is named in the entry", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { token } = await catalog.tokens.create(workspaceId, { name: "ci", permissions: [] });
  await runAs({ ...caller, tokenId: token.id }, () => catalog.tokens.revoke(workspaceId, token.id));
  const [entry] = all(catalog, workspaceId, { action: "token.delete" });
  expect(entry?.actor).toEqual({ tokenId: token.id, tokenName: "ci" });
});

test("entries show changed fields before and after, code by its revision", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const code = "export const transformEvent = (event) => event";
  const first = await store(catalog, workspaceId, "transformation", { name: "T", code });
  await publish(catalog, first);
  const second = catalog.code.revise(workspaceId, "transformation", first.id, { code: `${code};` });
  const change = { revisions: [second], links: [], usedLibraries: [], publish: [] };
  await catalog.code.commit(workspaceId, change);
  await publish(catalog, second);
  await publish(catalog, first);
  const [rollBack, publishing, update] = all(catalog, workspaceId, { resource: first.id });
  const [before, after] = [first.versionId, second.versionId];
  expect(update).toMatchObject({
    action: "transformation.update",
    changes: [{ path: "revision", before, after }],
  });
  expect(publishing).toMatchObject({
    action: "transformation.publish",
    changes: [{ path: "published", before, after }],
  });
  expect(rollBack).toMatchObject({
    action: "transformation.roll-back",
    changes: [{ path: "published", before: after, after: before }],
  });
  expect(JSON.stringify(all(catalog, workspaceId))).not.toContain("transformEvent");
});

test("a changed setting of a source is recorded with both values", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const settings = { ip: "truncate", bots: "mark" } as const;
  const { id } = await catalog.sources.create(workspaceId, { name: "Shop", settings });
  await catalog.sources.update(workspaceId, id, { settings: { ip: "drop" } });
  const [entry] = all(catalog, workspaceId, { action: "source.update" });
  expect(entry?.changes).toEqual([{ path: "settings.ip", before: "truncate", after: "drop" }]);
});

test("a long value is cut and marked, and many fields are counted", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const config = { long: "x".repeat(10_000), ...Object.fromEntries(fields(200)) };
  await catalog.sources.create(workspaceId, { name: "Shop", config });
  const [entry] = all(catalog, workspaceId, { action: "source.create" });
  const long = entry?.changes.find(({ path }) => path === "config.long");
  expect(long).toEqual({
    path: "config.long",
    after: "x".repeat(AUDIT_VALUE_CHARS_MAX),
    isCut: true,
  });
  expect(entry?.changes).toHaveLength(AUDIT_CHANGES_MAX);
  expect(entry?.changesLeftOut).toBeGreaterThan(100);
});

const fields = (count: number) => Array.from({ length: count }, (_, i) => [`f${i}`, i] as const);

test("a removed destination's connections are found in its history, and derived rows are not", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const source = await catalog.sources.create(workspaceId, { name: "Shop" });
  const destinationId = await destination(catalog, workspaceId);
  const pair = { sourceId: source.id, destinationId };
  const connection = await catalog.connections.create(workspaceId, pair, {});
  await catalog.destinations.update(workspaceId, destinationId, { enabled: false }, { "0": 5 });
  await catalog.destinations.remove(workspaceId, destinationId);
  const actions = all(catalog, workspaceId, { resource: destinationId }).map(
    ({ action, resource }) => [action, resource?.id],
  );
  expect(actions.toReversed()).toEqual([
    ["destination.create", destinationId],
    ["connection.create", connection.id],
    ["destination.update", destinationId],
    ["connection.delete", connection.id],
    ["destination.delete", destinationId],
  ]);
});

test("publishing the earlier of two revisions of one millisecond is a roll-back", () => {
  // With a clock that was set back, ids count on from the last one.
  const [earlier, later] = [newId(0), newId(0)];
  expect(verbOf("resources", { published: later }, { published: earlier })).toBe("roll-back");
  expect(verbOf("resources", { published: earlier }, { published: later })).toBe("publish");
  expect(verbOf("resources", undefined, { published: earlier })).toBe("publish");
});

test("changes of code are created, updated and deleted, unless they publish", () => {
  const published = newId();
  expect(verbOf("resources", undefined, {})).toBe("create");
  expect(verbOf("resources", {}, {})).toBe("update");
  expect(verbOf("resources", { published }, { published })).toBe("update");
  expect(verbOf("resources", { published }, {})).toBe("update");
  expect(verbOf("resources", { published }, { deleted: true })).toBe("delete");
  expect(verbOf("resources", { deleted: true }, { deleted: true })).toBe("update");
  expect(verbOf("resources", { deleted: true }, { published })).toBe("publish");
});

test("a change that keeps all values has an entry, and names a token that is gone by its id", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { id } = await catalog.sources.create(workspaceId, { name: "Shop" });
  const tokenId = newId();
  await runAs({ ...caller, tokenId }, () =>
    catalog.sources.update(workspaceId, id, { name: "Shop" }),
  );
  const [entry] = all(catalog, workspaceId);
  expect(entry).toMatchObject({ action: "source.update", changes: [] });
  expect(entry?.actor).toStrictEqual({ tokenId });
});

test("the consents that a destination needs are recorded", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const id = await destination(catalog, workspaceId);
  await catalog.destinations.update(workspaceId, id, { consentIds: ["ads"] }, {});
  expect(all(catalog, workspaceId)[0]?.changes).toEqual([{ path: "consentIds", after: ["ads"] }]);
});

async function bounded(audit: Partial<AuditBounds>) {
  const catalog = await openCatalog({ directory: await freshDirectory(), logger, audit });
  onTestFinished(() => catalog.close());
  const { id } = await catalog.workspaces.create("Acme");
  const { id: other } = await catalog.workspaces.create("Other");
  return { catalog, id, other };
}

test("entries beyond the size are deleted, oldest first, and the answer says since when all are kept", async () => {
  const { catalog, id } = await bounded({ workspaceBytes: 20_000 });
  for (let i = 0; i < 100; i++) await catalog.sources.create(id, { name: `source ${i}` });
  const { entries, keptSince } = catalog.audit.find(id, {}, { count: 500 });
  expect(entries.length).toBeGreaterThan(20);
  expect(entries.length).toBeLessThan(60);
  expect(entries[0]?.resource?.name).toBe("source 99");
  const names = entries.map(({ resource }) => resource?.name).toReversed();
  expect(names).toEqual(names.map((_, i) => `source ${100 - names.length + i}`));
  expect(keptSince).toBeLessThanOrEqual(entries.at(-1)!.at + 1);
  expect(keptSince).toBeGreaterThan(0);
});

test("the bound over all workspaces deletes entries of the workspace with the most", async () => {
  const { catalog, id, other } = await bounded({ bytes: 30_000 });
  await catalog.sources.create(other, { name: "kept" });
  for (let i = 0; i < 100; i++) await catalog.sources.create(id, { name: `source ${i}` });
  expect(all(catalog, id).length).toBeLessThan(80);
  expect(all(catalog, other).map(({ resource }) => resource?.name)).toEqual(["kept", "Other"]);
});

test("entries that are too old are not shown, and are deleted", async () => {
  const directory = await freshDirectory();
  const opened = (ageMs: number) => openCatalog({ directory, logger, audit: { ageMs } });
  const before = await opened(0);
  const { id } = await before.workspaces.create("Acme");
  for (let i = 0; i < 20; i++) await before.sources.create(id, { name: `source ${i}` });
  expect(all(before, id)).toHaveLength(21);
  await before.close();
  await Bun.sleep(2);
  const bounded = await opened(1);
  expect(all(bounded, id)).toEqual([]);
  await bounded.audit.trim();
  await bounded.close();
  const after = await opened(0);
  onTestFinished(() => after.close());
  expect(all(after, id)).toEqual([]);
});

test("a clock that is ahead makes no entry too old", async () => {
  const directory = await freshDirectory();
  const catalog = await openCatalog({ directory, logger, audit: { ageMs: 3_600_000 } });
  onTestFinished(() => catalog.close());
  const { id } = await catalog.workspaces.create("Acme");
  setSystemTime(Date.now() + 86_400_000);
  try {
    await catalog.audit.trim();
    await catalog.sources.create(id, { name: "source" });
    expect(all(catalog, id)).toHaveLength(2);
  } finally {
    setSystemTime();
  }
});

test("refused tokens displace no other entries", async () => {
  const { catalog, id } = await bounded({ refusalsBytes: 5_000 });
  const refused = { workspaceId: id, client: "192.0.2.9", reason: "Expired token", requests: 9 };
  for (let i = 0; i < 100; i++) await catalog.audit.addRefused([refused]);
  const entries = all(catalog, id);
  expect(entries.filter(({ action }) => action === "workspace.create")).toHaveLength(1);
  expect(entries.length).toBeLessThan(50);
  expect(entries[0]).toMatchObject({ action: "token.refuse", requests: 9, client: "192.0.2.9" });
});

test("a refused token that no workspace knows is shown in the first workspace alone", async () => {
  const { catalog, id, other } = await bounded({});
  const refused = { workspaceId: "", client: "192.0.2.9", reason: "Unknown token", requests: 1 };
  await catalog.audit.addRefused([refused]);
  const seen = (workspaceId: string) => all(catalog, workspaceId, { action: "token" }).length;
  expect([seen(id), seen(other)]).toEqual([1, 0]);
});

test("a filter by an item of another workspace finds no entry", async () => {
  const { catalog, id, other } = await bounded({});
  const source = await catalog.sources.create(other, { name: "Shop" });
  const found = (workspaceId: string) => all(catalog, workspaceId, { resource: source.id }).length;
  expect([found(id), found(other)]).toEqual([0, 1]);
});

test("pages have all entries once, whatever is filtered", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  for (let i = 0; i < 30; i++) await catalog.sources.create(workspaceId, { name: `s${i}` });
  await catalog.audit.addRefused([{ workspaceId, reason: "Expired token", requests: 1 }]);
  const seen: string[] = [];
  for (let after: string | undefined = ""; after !== undefined; ) {
    const page = { count: 7, ...(after !== "" && { after }) };
    const { entries, reached } = catalog.audit.find(workspaceId, {}, page);
    expect(entries.length).toBeLessThanOrEqual(7);
    seen.push(...entries.map(({ id }) => id));
    after = reached;
  }
  expect(seen).toHaveLength(32);
  expect(seen).toEqual([...new Set(seen)].sort().reverse());
});

test("each node answers with the audit entries of all nodes, which changes carry in their change sets", async () => {
  const log = new MemoryLog({ delayMs: () => Math.random() });
  const [one, two] = await Promise.all(
    [1, 2].map(async () => freshCatalog(await freshDirectory(), log)),
  );
  const { id } = await one!.workspaces.create("Acme");
  await two!.current();
  await Promise.all(
    [one!, two!].flatMap((node, n) =>
      [1, 2, 3].map((i) => node.sources.create(id, { name: `${n} ${i}` })),
    ),
  );
  await Promise.all([one!.current(), two!.current()]);
  expect(all(one!, id)).toHaveLength(7);
  expect(all(two!, id)).toEqual(all(one!, id));
  const tables = log.entries.map((entry) => tablesOf(entry!));
  const changing = tables.filter((written) => written.has("sources"));
  expect(changing.length).toBeGreaterThan(0);
  for (const written of changing) expect([...written]).toContain("audit-entries");
});

function tablesOf(entry: Uint8Array): Set<string> {
  if (entry.length === 0) return new Set();
  const [, , , , writes] = decodeValue(entry) as [0, 0, 0, 0, [table: string][]];
  return new Set(writes.map(([table]) => table));
}
