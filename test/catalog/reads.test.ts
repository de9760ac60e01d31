import { expect, onTestFinished, test } from "bun:test";
import { firstIdAt, newId, timeOf } from "../../src/catalog/ids.ts";
import type { Workspace } from "../../src/catalog/model.ts";
import { isSessionSecret, newSessionSecret } from "../../src/catalog/secrets.ts";
import { isOriginPattern, settingsOfSource } from "../../src/catalog/source-settings.ts";
import { openStore } from "../../src/catalog/store.ts";
import {
  destination,
  freshCatalog,
  freshDirectory,
  freshWorkspace,
  logger,
  publish,
  refusalOf,
  store,
} from "./_setup.ts";

const nothing = { revisions: [], publish: [], links: [], usedLibraries: [] };

test("connections are found by their source, their destination or both, the oldest first", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { connections } = catalog;
  const other = (await catalog.workspaces.create("Other")).id;
  const source = async (name: string) => (await catalog.sources.create(workspaceId, { name })).id;
  const [site, shop] = [await source("Site"), await source("Shop")];
  const one = await destination(catalog, workspaceId);
  const two = await destination(catalog, workspaceId);
  const connect = async (sourceId: string, destinationId: string) =>
    (await connections.create(workspaceId, { sourceId, destinationId }, {})).id;
  const siteTwo = await connect(site, two);
  const siteOne = await connect(site, one);
  const shopOne = await connect(shop, one);
  const ids = (ends: object, of = workspaceId) =>
    [...connections.eachOf(of, ends)].map(({ id }) => id);
  expect(ids({ sourceId: site })).toEqual([siteTwo, siteOne]);
  expect(ids({ destinationId: one })).toEqual([siteOne, shopOne]);
  expect(ids({ sourceId: shop, destinationId: one })).toEqual([shopOne]);
  expect(ids({ sourceId: shop, destinationId: two })).toEqual([]);
  expect(ids({ sourceId: site }, other)).toEqual([]);
  expect(ids({ destinationId: one }, other)).toEqual([]);
  expect(connections.idOf({ sourceId: shop, destinationId: one })).toBe(shopOne);
  expect(connections.idOf({ sourceId: shop, destinationId: two })).toBeUndefined();
  expect(catalog.routing.connectionsOf(one).map(({ id }) => id)).toEqual([siteOne, shopOne]);
});

test("the first workspace is made when there is none", async () => {
  const { workspaces } = await freshCatalog();
  const { workspace, isMade } = await workspaces.first("Acme");
  expect([workspace.name, isMade]).toEqual(["Acme", true]);
  expect(await workspaces.first("Other")).toEqual({ workspace, isMade: false });
  const second = await workspaces.create("Second");
  expect(await workspaces.first("Other")).toEqual({ workspace, isMade: false });
  expect(workspaces.list(1)).toEqual([workspace]);
  expect(workspaces.list()).toEqual([workspace, second]);
});

test("a workspace has one key for its cursors, also if an earlier release stored none", async () => {
  const directory = await freshDirectory();
  const { workspaces } = await freshCatalog(directory);
  const workspace = await workspaces.create("Acme");
  const other = await workspaces.create("Other");
  const keyOf = async ({ id }: { id: string }) =>
    Buffer.from(await workspaces.cursorKey(id)).toString("hex");
  const key = await keyOf(workspace);
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect([await keyOf(workspace), workspace.cursorKey]).toEqual([key, key]);
  expect(await keyOf(other)).not.toBe(key);

  const raw = openStore(directory, logger);
  const rows = raw.table<Workspace, string>("workspaces");
  const { cursorKey: _, ...keyless } = workspace;
  await raw.change(() => rows.put(workspace.id, keyless));
  await raw.close();
  const [one, two] = await Promise.all([keyOf(workspace), keyOf(workspace)]);
  expect(one).toMatch(/^[0-9a-f]{64}$/);
  expect(one).not.toBe(key);
  expect([two, await keyOf(workspace)]).toEqual([one, one]);
  expect(workspaces.get(workspace.id)).toEqual({ ...keyless, cursorKey: one! });
  expect((await refusalOf(() => keyOf({ id: newId() }))).refusal).toBe("missing");
});

test("a link has its time, is cleared at its destination, and changes only with its answer", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { code } = catalog;
  const revision = await store(catalog, workspaceId, "transformation");
  await publish(catalog, revision);
  const linked = await destination(catalog, workspaceId);
  const other = await destination(catalog, workspaceId);
  const ids = () => code.linkedDestinations(workspaceId, revision.id).map(({ id }) => id);
  const refuse = () => {
    throw new Error("Refused");
  };
  const before = Date.now();
  const refused = code.link(workspaceId, revision.id, linked, refuse);
  await expect(refused).rejects.toThrow("Refused");
  expect([ids(), code.linkedAt(workspaceId, linked)]).toEqual([[], undefined]);
  expect(await code.link(workspaceId, revision.id, linked, ids)).toEqual([linked]);
  expect(code.linkedAt(workspaceId, linked)).toBeGreaterThanOrEqual(before);
  const topology = catalog.live.topology();
  await code.clearLink(workspaceId, other);
  expect([ids(), catalog.live.topology()]).toEqual([[linked], topology]);
  await expect(code.unlink(workspaceId, revision.id, linked, refuse)).rejects.toThrow("Refused");
  await code.clearLink(workspaceId, linked);
  expect([...(catalog.live.changedSince(topology) ?? [])]).toEqual([linked]);
  expect(ids()).toEqual([]);
  await code.link(workspaceId, revision.id, linked);
  expect(await code.unlink(workspaceId, revision.id, linked, ids)).toEqual([]);
  await code.remove(workspaceId, "transformation", revision.id);
  for (const verb of [code.link, code.unlink]) {
    const gone = await refusalOf(() => verb(workspaceId, revision.id, linked));
    expect(gone.message).toBe("Transformation not found");
  }
});

test("drafts are listed with their newest revision, and code by its ids with the published one", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { code } = catalog;
  const other = (await catalog.workspaces.create("Other")).id;
  const revise = async (id: string) => {
    const revision = code.revise(workspaceId, "transformation", id, { code: "newer" });
    await code.commit(workspaceId, { ...nothing, revisions: [revision] });
    return revision;
  };
  const draft = await store(catalog, workspaceId, "transformation");
  const live = await store(catalog, workspaceId, "transformation");
  const library = await store(catalog, workspaceId, "library");
  await publish(catalog, live);
  const [draft2, live2] = [await revise(draft.id), await revise(live.id)];
  const versions = (found: Iterable<{ resource: { id: string }; revision: typeof draft }>) =>
    [...found].map(({ resource, revision }) => [resource.id, revision.versionId]);
  const drafts = (kind: "transformation" | "library", of = workspaceId) =>
    versions(code.listDrafts(of, kind));
  expect(drafts("transformation")).toEqual([[draft.id, draft2.versionId]]);
  expect(drafts("library")).toEqual([[library.id, library.versionId]]);
  expect(drafts("transformation", other)).toEqual([]);
  const ids = [live.id, newId(), "no id", library.id, draft.id];
  expect(versions(code.withIds(workspaceId, "transformation", ids))).toEqual([
    [live.id, live.versionId],
    [draft.id, draft2.versionId],
  ]);
  expect(code.withIds(other, "transformation", ids)).toEqual([]);
  expect([draft, draft2, live2].map((it) => code.revisionNumber(it))).toEqual([1, 2, 2]);
  await code.remove(workspaceId, "transformation", draft.id);
  expect([
    drafts("transformation"),
    code.withIds(workspaceId, "transformation", [draft.id]),
  ]).toEqual([[], []]);
  const newest = await refusalOf(() =>
    code.newestRevision(workspaceId, "transformation", draft.id),
  );
  expect(newest.message).toBe("Transformation not found");
  const published = () => code.publishedRevision(workspaceId, "transformation", draft.id);
  expect((await refusalOf(published)).message).toBe("Transformation not found");
});

test("a version was published once its code was, of its kind, and stays so when the code is deleted", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { code } = catalog;
  const first = await store(catalog, workspaceId, "transformation");
  const find = (versionId: string) => code.everPublished("transformation", versionId);
  expect(find(first.versionId)).toBeUndefined();
  await publish(catalog, first);
  const second = code.revise(workspaceId, "transformation", first.id, { code: "two" });
  await code.commit(workspaceId, { ...nothing, revisions: [second] });
  expect([first, second].map(({ versionId }) => find(versionId))).toEqual([first, undefined]);
  await publish(catalog, second);
  await code.remove(workspaceId, "transformation", first.id);
  expect([first, second].map(({ versionId }) => find(versionId))).toEqual([first, second]);
  expect(code.everPublished("library", first.versionId)).toBeUndefined();
  expect(find(newId())).toBeUndefined();
});

test("items are found by id in their own workspace, counted, and passed over once they are gone", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { sources } = catalog;
  const other = (await catalog.workspaces.create("Other")).id;
  const [one, two, three] = [
    await sources.create(workspaceId, { name: "One" }),
    await sources.create(workspaceId, { name: "Two" }),
    await sources.create(workspaceId, { name: "Three" }),
  ];
  const theirs = await sources.create(other, { name: "Theirs" });
  const ids = [two.id, theirs.id, "no id", newId(), one.id];
  expect(sources.withIds(workspaceId, ids)).toEqual([two, one]);
  expect([sources.count(workspaceId), sources.count(other)]).toEqual([3, 1]);
  const each = sources.each(workspaceId)[Symbol.iterator]();
  expect(each.next().value).toEqual(one);
  await sources.remove(workspaceId, two.id);
  expect([each.next().value, each.next().done]).toEqual([three, true]);
});

test("the longest time in which repeated events are recognized is that of all sources", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const other = (await catalog.workspaces.create("Other")).id;
  const longest = () => catalog.live.longestDedupSeconds();
  expect(longest()).toBe(0);
  const create = (of: string, dedupSeconds: number) =>
    catalog.sources.create(of, { name: "Site", settings: { dedupSeconds } });
  await create(workspaceId, 60);
  const { id } = await create(other, 600);
  await create(workspaceId, 30);
  expect(longest()).toBe(600);
  await catalog.sources.remove(other, id);
  expect(longest()).toBe(60);
});

test("settings that a source does not store have their defaults", () => {
  const defaults = { geoEnrichment: false, ip: "keep", bots: "keep", allowedOrigins: [] } as const;
  expect(settingsOfSource({})).toEqual({ ...defaults, dedupSeconds: 0 });
  const settings = { ip: "drop", dedupSeconds: 5 } as const;
  expect(settingsOfSource({ settings })).toEqual({ ...defaults, ...settings });
  expect(["https://*.a.example:8443", "https://a.example/"].map(isOriginPattern)).toEqual([
    true,
    false,
  ]);
});

test("an expired token is known by its secret, and a revoked one is not", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { tokens } = catalog;
  const expiresAt = Date.now() - 1;
  const { token, secret } = await tokens.create(workspaceId, {
    name: "CI",
    permissions: [],
    expiresAt,
  });
  expect(tokens.authenticate(secret)).toBeUndefined();
  expect(tokens.idsOf(secret)).toEqual({ workspaceId, tokenId: token.id });
  expect(tokens.idsOf("no secret")).toBeUndefined();
  await tokens.revoke(workspaceId, token.id);
  expect(tokens.idsOf(secret)).toBeUndefined();
});

test("a time stands before the ids made from then on, and after earlier ones", () => {
  // An earlier test of this process may have set the clock ahead.
  const at = timeOf(newId()) + 10_000;
  const before = newId(at - 1);
  const first = firstIdAt(at);
  const after = newId(at);
  expect([after, first, before].toSorted()).toEqual([before, first, after]);
  expect([first.length, timeOf(first)]).toEqual([27, at]);
  expect(firstIdAt(at + 0.9)).toBe(first);
  expect(firstIdAt(-5)).toBe("0".repeat(27));
});

test("a session's secret has a form of its own", () => {
  expect(isSessionSecret(newSessionSecret())).toBe(true);
  expect(newSessionSecret()).toMatch(/^pms_[0-9A-Za-z]{33}$/);
  const others = ["", `pm_${"a".repeat(40)}`, `pms_${"a".repeat(31)}`, `pms_${"a".repeat(65)}`];
  expect(others.filter(isSessionSecret)).toEqual([]);
});

test("conditions of nested calls are checked in each change, the outer one first, until the calls are over", async () => {
  const raw = openStore(await freshDirectory(), logger);
  onTestFinished(() => raw.close());
  const steps: string[] = [];
  const step = (name: string) => () => void steps.push(name);
  const change = () => raw.change(step("change"));
  const isOver = Promise.withResolvers<void>();
  let late: Promise<void> | undefined;
  const result = await raw.conditionally(step("outer"), () =>
    raw.conditionally(step("inner"), async () => {
      await change();
      late = isOver.promise.then(change);
      return "answer";
    }),
  );
  expect(result).toBe("answer");
  expect(steps.splice(0)).toEqual(["outer", "inner", "change"]);
  isOver.resolve();
  await late;
  await change();
  expect(steps).toEqual(["change", "change"]);
});

test("a change that began in a conditional call checks the conditions in each run, also when the call is over", async () => {
  const raw = openStore(await freshDirectory(), logger);
  onTestFinished(() => raw.close());
  const steps: string[] = [];
  const step = (name: string) => () => void steps.push(name);
  const begin = async () => ({ begun: raw.change(step("change")) });
  const { begun } = await raw.conditionally(step("outer"), () =>
    raw.conditionally(step("inner"), begin),
  );
  expect(steps).toEqual([]);
  await begun;
  expect(steps).toEqual(["outer", "inner", "change"]);
});
