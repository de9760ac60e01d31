import { describe, expect, onTestFinished, setSystemTime, test } from "bun:test";
import { join } from "node:path";
import { open } from "lmdb";
import { parseName } from "../../src/catalog/name.ts";
import { openStore } from "../../src/catalog/store.ts";
import { firstEvents } from "../../src/catalog/tables/revision-history.ts";
import {
  DESCRIPTION_CHARS_MAX,
  NAME_CHARS_MAX,
  PAGE_ITEMS_MAX,
  TEST_EVENTS_KEPT_BYTES_MAX,
} from "../../src/settings/limits.ts";
import {
  freshCatalog,
  freshDirectory,
  freshWorkspace,
  logger,
  publish,
  refusalOf,
  store,
} from "./_setup.ts";

/** Stored fields of each item. */

const TABLES = (
  "connection-pairs connections connections-by-destination connections-by-mark connections-order " +
  "credential-stamps credential-values credentials credentials-by-name credentials-order " +
  "destinations destinations-by-mark destinations-order drafts-by-workspace epochs " +
  "importers-by-import-name libraries-by-import-name links links-by-transformation members " +
  "members-order pasts publications published-by-workspace resources " +
  "revisions revisions-by-resource sessions sessions-by-token sources " +
  "sources-by-mark sources-by-write-key sources-order test-cases token-uses tokens " +
  "tokens-by-hash tokens-by-member tokens-order upgrades workspaces"
).split(" ");

/** Lets the clock stand at this time for the rest of the test. */
function at(time: number): void {
  setSystemTime(new Date(time));
  onTestFinished(() => void setSystemTime());
}

describe("names", () => {
  test.each(["", " ", "\t\n", "x".repeat(NAME_CHARS_MAX + 1)])("%j is none", (text) => {
    expect(() => parseName(text)).toThrow();
  });

  test("are trimmed, well formed and as long as the limit", () => {
    expect(parseName(" a ")).toBe("a");
    expect(parseName("\ud800")).toBe("\ufffd");
    expect(parseName(` ${"x".repeat(NAME_CHARS_MAX)} `).length).toBe(NAME_CHARS_MAX);
  });
});

describe("a stored item has exactly these fields", () => {
  const START = 1_700_000_000_000;

  test("a source has exactly its fields", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    at(START);
    const made = await catalog.sources.create(workspaceId, { name: "Site" });
    const { id, writeKey } = made;
    expect(made).toStrictEqual({
      ...{ id, workspaceId, name: "Site", type: "http", writeKey, enabled: true, config: {} },
      ...{ createdAt: START, updatedAt: START },
    });
    const full = {
      ...{ name: "Shop", type: "Javascript", enabled: false, config: { a: 1 } },
      ...{ externalId: "e", geoEnrichmentEnabled: true, transient: false },
      ...{ settings: { ip: "drop" as const } },
    };
    expect(await catalog.sources.create(workspaceId, full)).toMatchObject(full);
    const http = await catalog.sources.create(workspaceId, { name: "Shop", type: "HTTP" });
    expect(http).toMatchObject({ type: "http", typeAs: "HTTP" });
    at(START + 5);
    const changes = [
      ...[{ name: "New" }, { enabled: false }, { config: { b: 2 } }, { externalId: "x" }],
      ...[{ geoEnrichmentEnabled: true }, { transient: true }, { externalId: "" }],
      ...[{ settings: { ip: "drop" as const } }, { settings: { ip: "keep" as const } }],
    ];
    let updatedAt = START + 4;
    let now: object = made;
    for (const change of changes) {
      now = { ...now, ...change, updatedAt: ++updatedAt };
      const { externalId, ...rest } = now as { externalId?: string };
      const expected = externalId ? now : rest;
      expect(await catalog.sources.update(workspaceId, id, change)).toStrictEqual(
        expected as never,
      );
      expect(catalog.sources.get(workspaceId, id)).toEqual(expected as never);
    }
  });

  test("a destination has exactly its fields", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    at(START);
    const input = { name: "Sink", type: "file", config: { path: "a" } };
    const made = await catalog.destinations.create(workspaceId, input);
    const { id } = made;
    expect(made).toStrictEqual({
      ...{ id, workspaceId, ...input, enabled: true, createdAt: START, updatedAt: START },
    });
    const full = { ...input, typeAs: "S3", version: 2, enabled: false, externalId: "f" };
    expect(await catalog.destinations.create(workspaceId, full)).toMatchObject(full);
    at(START + 5);
    let updatedAt = START + 4;
    let now: object = made;
    for (const change of [{ name: "N" }, { enabled: false }, { config: { path: "b" } }]) {
      now = { ...now, ...change, updatedAt: ++updatedAt };
      const { config, ...rest } = change as { config?: object };
      const input = { ...rest, ...(config && { config: () => ({ ...config }) }) };
      const after = await catalog.destinations.update(workspaceId, id, input, {});
      expect(after).toStrictEqual(now as never);
      expect(catalog.live.destination(id)).toEqual(now as never);
    }
  });

  test("a connection has exactly its fields", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const source = await catalog.sources.create(workspaceId, { name: "Site" });
    const input = { name: "Sink", type: "file", config: {} };
    const sink = await catalog.destinations.create(workspaceId, input);
    at(START);
    const pair = { sourceId: source.id, destinationId: sink.id };
    const made = await catalog.connections.create(workspaceId, pair, { "1": 2 });
    expect(made).toStrictEqual({
      ...{ id: made.id, workspaceId, ...pair, enabled: true, from: { "1": 2 } },
      ...{ createdAt: START, updatedAt: START },
    });
    at(START + 5);
    const marked = await catalog.connections.update(workspaceId, made.id, { externalId: "e" }, {});
    expect(marked).toStrictEqual({ ...made, externalId: "e", updatedAt: START + 5 });
    await catalog.connections.remove(workspaceId, made.id);
    const paused = { ...pair, enabled: false, externalId: "f" };
    const again = await catalog.connections.create(workspaceId, paused, { "1": 3 });
    expect(again).toMatchObject({ ...paused, from: { "1": 3 }, until: { "1": 3 } });
  });

  test("a member has exactly its fields, and the permissions of its role", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    at(START);
    const input = { name: "Ada", email: "ada@example.com" };
    const made = await catalog.members.create(workspaceId, input);
    expect(made).toStrictEqual({
      ...{ id: made.id, workspaceId, ...input, role: "member", editTransformations: false },
      ...{ permissions: [], createdAt: START, updatedAt: START },
    });
    at(START + 5);
    let updatedAt = START + 4;
    let now: object = made;
    const changes = [
      ...[{ name: "Eve" }, { email: "eve@example.com" }, { role: "admin" as const }],
      ...[{ editTransformations: true }, { permissions: ["events:read" as const] }],
    ];
    const { secret } = await catalog.tokens.create(workspaceId, {
      ...{ name: "T", permissions: [], memberId: made.id },
    });
    const mayEdit = () =>
      [...catalog.tokens.authenticate(secret)!.permissions].includes("transformations:edit");
    for (const change of changes) {
      // An admin alone, or edit access alone, is not enough.
      expect(mayEdit()).toBe("permissions" in change);
      now = { ...now, ...change, updatedAt: ++updatedAt };
      const after = await catalog.members.update(workspaceId, made.id, change);
      expect(after).toStrictEqual(now as never);
      expect(catalog.members.get(workspaceId, made.id)).toEqual(now as never);
    }
    const all = [...catalog.tokens.authenticate(secret)!.permissions];
    await catalog.members.remove(workspaceId, made.id);
    expect((await refusalOf(() => catalog.members.get(workspaceId, made.id))).refusal).toBe(
      "missing",
    );
    expect(catalog.members.list(workspaceId, 1)).toEqual({ items: [], total: 0 });
    expect(all).toEqual([
      ...["events:read", "transformations:create-delete", "transformations:connect"],
      ...["transformations:edit", "libraries:edit", "destinations:connect"],
    ] as never);
  });

  test("service tokens and personal tokens have exactly their fields", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const input = { name: "Ada", email: "ada@example.com" };
    const member = await catalog.members.create(workspaceId, input);
    at(START);
    const plain = { name: "CI", permissions: ["events:read" as const] };
    for (const more of [{}, { memberId: member.id }, { expiresAt: START + 9 }]) {
      const { token, secret } = await catalog.tokens.create(workspaceId, { ...plain, ...more });
      const permissions = "memberId" in more ? [] : plain.permissions;
      const shown = { id: token.id, workspaceId, ...plain, permissions, ...more, createdAt: START };
      expect(token).toStrictEqual(shown);
      const principal = {
        workspaceId,
        tokenId: token.id,
        ...more,
        permissions: new Set(permissions),
      };
      expect(catalog.tokens.authenticate(secret)).toStrictEqual(principal);
      expect(catalog.tokens.get(workspaceId, token.id)).toEqual({ ...shown, lastUsedAt: START });
    }
  });

  test("a changed credential keeps its createdAt", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    at(START);
    const made = await catalog.credentials.put(workspaceId, "key", "one");
    const times = { createdAt: START, updatedAt: START };
    expect(made).toStrictEqual({ id: made.id, workspaceId, name: "key", ...times });
    at(START + 5);
    const after = await catalog.credentials.put(workspaceId, "key", "two");
    expect(after).toStrictEqual({ ...made, updatedAt: START + 5 });
  });
});

describe("revisions", () => {
  test("an update changes each field that it names", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const input = { name: "One", description: "first", code: "1" };
    const first = await store(catalog, workspaceId, "transformation", input);
    expect("createdBy" in first).toBe(false);
    for (const change of [{ name: "Two" }, { description: "second" }, { code: "2" }]) {
      const after = catalog.code.revise(workspaceId, "transformation", first.id, change);
      expect(after).toMatchObject({ ...input, ...change, id: first.id, language: "javascript" });
    }
    const signed = { createdBy: { tokenId: "t" } };
    const after = catalog.code.revise(workspaceId, "transformation", first.id, signed);
    expect(after.createdBy).toStrictEqual({ tokenId: "t" });
    const { createdBy } = catalog.code.revise(workspaceId, "transformation", first.id, {
      createdBy: { tokenId: "t", memberId: "m" },
    });
    expect(createdBy).toStrictEqual({ tokenId: "t", memberId: "m" });
  });

  test("a description has its limit", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const described = (chars: number) =>
      store(catalog, workspaceId, "transformation", { description: "x".repeat(chars) });
    expect((await described(DESCRIPTION_CHARS_MAX)).description.length).toBe(DESCRIPTION_CHARS_MAX);
    expect((await refusalOf(() => described(DESCRIPTION_CHARS_MAX + 1))).refusal).toBe("invalid");
  });

  test("a version is found only by its own kind, workspace and resource", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const other = (await catalog.workspaces.create("Other")).id;
    const first = await store(catalog, workspaceId, "transformation");
    const second = await store(catalog, workspaceId, "transformation");
    const { code } = catalog;
    const { id, versionId } = first;
    expect(code.revisionByVersion(workspaceId, "transformation", versionId)).toEqual(first);
    for (const find of [
      () => code.revisionByVersion(workspaceId, "library", versionId),
      () => code.revisionByVersion(other, "transformation", versionId),
      () => code.revision(workspaceId, "transformation", second.id, versionId),
      () => code.revision(workspaceId, "library", id, versionId),
    ]) {
      expect((await refusalOf(find)).refusal).toBe("missing");
    }
  });

  test("the history of a published version survives the deletion of its resource", async () => {
    const directory = await freshDirectory();
    const before = await freshCatalog(directory);
    const { id: workspaceId } = await before.workspaces.create("Acme");
    await publish(before, await store(before, workspaceId, "library", { name: "Lib" }));
    const revision = await store(before, workspaceId, "transformation");
    await publish(before, revision, ["lib"]);
    await before.close();
    // An earlier release stored imports in the publication alone.
    const raw = openStore(directory, logger);
    const pasts = raw.table<object, string>("pasts");
    await raw.change(() => pasts.remove(revision.versionId));
    await raw.close();

    const { code } = await freshCatalog(directory);
    expect(code.history(revision)).toEqual({ imports: ["lib"] });
    await code.remove(workspaceId, "transformation", revision.id);
    expect(code.history(revision)).toEqual({ imports: ["lib"] });
  });

  test("a revision id cannot be used again for other code", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const revision = await store(catalog, workspaceId, "transformation", { code: "one" });
    const change = {
      revisions: [{ ...revision, code: "two" }],
      publish: [],
      links: [],
      usedLibraries: [],
    };
    await expect(catalog.code.commit(workspaceId, change)).rejects.toThrow("never used twice");
    expect(
      catalog.code.newestRevision(workspaceId, "transformation", revision.id).revision.code,
    ).toBe("one");
  });

  test("the refusal to delete a library names ten importers and counts the others", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const library = await store(catalog, workspaceId, "library", { name: "Lib" });
    await publish(catalog, library);
    const message = async () => {
      const remove = () => catalog.code.remove(workspaceId, "library", library.id);
      return (await refusalOf(remove)).message;
    };
    const names: string[] = [];
    for (let n = 0; n < 12; n++) {
      names.push(`User ${n}`);
      const user = await store(catalog, workspaceId, "transformation", { name: names[n]! });
      await publish(catalog, user, ["lib"]);
      const more = n < 10 ? "" : ` and ${n - 9} more`;
      expect(await message()).toEndWith(`published code: ${names.slice(0, 10).join(", ")}${more}`);
    }
  });

  test("a deleted resource takes no external id", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { id } = await store(catalog, workspaceId, "transformation");
    const { code } = catalog;
    await code.setExternalId(workspaceId, "transformation", id, "e");
    expect(code.resource(workspaceId, "transformation", id).externalId).toBe("e");
    await code.remove(workspaceId, "transformation", id);
    const late = () => code.setExternalId(workspaceId, "transformation", id, "f");
    expect((await refusalOf(late)).refusal).toBe("missing");
    expect((await refusalOf(() => code.remove(workspaceId, "transformation", id))).refusal).toBe(
      "missing",
    );
  });
});

test("test events are kept up to TEST_EVENTS_KEPT_BYTES_MAX", () => {
  const event = (bytes: number) => ({ event: "x".repeat(bytes - '{"event":""}'.length) });
  const half = TEST_EVENTS_KEPT_BYTES_MAX / 2;
  const kept = (...sizes: number[]) => firstEvents(sizes.map(event)).length;
  expect(kept()).toBe(0);
  expect(kept(half, half)).toBe(2);
  expect(kept(half, half + 1)).toBe(1);
  expect(kept(half, half, 20)).toBe(2);
  expect(kept(2 * half + 1, 20)).toBe(0);
});

test("pages have PAGE_ITEMS_MAX items in the order of creation, with and without external ids", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const other = (await catalog.workspaces.create("Other")).id;
  const create = (n: number, of = workspaceId) =>
    catalog.sources.create(of, { name: `${n}`, ...(n % 2 === 1 && { externalId: `e${n}` }) });
  await create(0, other);
  for (let n = 0; n < 2 * PAGE_ITEMS_MAX + 2; n++) await create(n);
  await create(1, other);
  const names = (page: number, marked?: boolean) => {
    const { items, total } = catalog.sources.list(workspaceId, page, marked);
    return { names: items.map(({ name }) => Number(name)), total };
  };
  const all = Array.from({ length: 2 * PAGE_ITEMS_MAX + 2 }, (_, n) => n);
  for (const [marked, numbers] of [
    [undefined, all],
    [true, all.filter((n) => n % 2 === 1)],
    [false, all.filter((n) => n % 2 === 0)],
  ] as const) {
    for (const page of [1, 2, 3, 4]) {
      const from = (page - 1) * PAGE_ITEMS_MAX;
      const expected = numbers.slice(from, from + PAGE_ITEMS_MAX);
      expect(names(page, marked)).toEqual({ names: expected, total: numbers.length });
    }
  }
  // A new external id, or none, moves a source from one list to the other.
  const [first] = catalog.sources.list(workspaceId, 1).items;
  await catalog.sources.update(workspaceId, first!.id, { externalId: "now" });
  expect(names(1, true).names[0]).toBe(0);
  expect(names(1, false).names[0]).toBe(2);
  await catalog.sources.remove(workspaceId, first!.id);
  expect(names(1, true)).toMatchObject({ total: PAGE_ITEMS_MAX + 1 });
  expect(names(1, false)).toMatchObject({ total: PAGE_ITEMS_MAX });
});

test("a token that is revoked while its session begins gets no session", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { token, secret } = await catalog.tokens.create(workspaceId, {
    name: "T",
    permissions: [],
  });
  const revoked = catalog.tokens.revoke(workspaceId, token.id);
  const begun = catalog.sessions.begin(secret);
  await revoked;
  expect((await refusalOf(() => begun)).refusal).toBe("unauthenticated");
});

test("the names of tables stay, since an older catalog has its data under them", async () => {
  const directory = await freshDirectory();
  await (await freshCatalog(directory)).close();
  const root = open({ path: join(directory, "catalog.mdb"), readOnly: true });
  const names = [...root.getKeys()];
  await root.close();
  expect(names).toEqual(expect.arrayContaining(TABLES));
});
