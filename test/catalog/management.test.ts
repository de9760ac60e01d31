import { describe, expect, setSystemTime, test } from "bun:test";
import { newId } from "../../src/catalog/ids.ts";
import {
  REMOVED_CONNECTION_SECONDS_MAX,
  REMOVED_CONNECTIONS_OF_WORKSPACE_MAX,
} from "../../src/catalog/limits.ts";
import {
  CREDENTIAL_NAME_CHARS_MAX,
  CREDENTIAL_VALUE_CHARS_MAX,
  CREDENTIAL_VALUES_CHARS_MAX,
  PAGE_ITEMS_MAX,
} from "../../src/settings/limits.ts";
import { passTime } from "../pass-time.ts";
import { destination, freshWorkspace, publish, refusalOf, store } from "./_setup.ts";

describe("workspaces", () => {
  test("workspaces are listed by creation", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const second = await catalog.workspaces.create("Second");
    expect(catalog.workspaces.list().map(({ id }) => id)).toEqual([workspaceId, second.id]);
    expect(catalog.workspaces.get(second.id)).toEqual(second);
    expect(catalog.workspaces.get(newId())).toBeUndefined();
  });

  test("a workspace cannot reach the items of another", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const other = (await catalog.workspaces.create("Other")).id;
    const source = await catalog.sources.create(workspaceId, { name: "Site" });
    const verbs = [
      () => catalog.sources.get(other, source.id),
      () => catalog.sources.update(other, source.id, { name: "Mine" }),
      () => catalog.sources.rotateWriteKey(other, source.id),
      () => catalog.sources.remove(other, source.id),
    ];
    for (const verb of verbs) expect((await refusalOf(verb)).refusal).toBe("missing");
    expect(catalog.sources.list(other, 1)).toEqual({ items: [], total: 0 });
    expect(catalog.sources.get(workspaceId, source.id)).toEqual(source);
  });
});

test.each(["", "x", "../../etc", "é".repeat(3_000), "a\u0000b"])(
  "the hostile id %j is unknown",
  async (id) => {
    const { catalog, workspaceId } = await freshWorkspace();
    expect((await refusalOf(() => catalog.sources.get(workspaceId, id))).refusal).toBe("missing");
    const known = () => catalog.code.revisionByVersion(workspaceId, "library", id);
    expect((await refusalOf(known)).refusal).toBe("missing");
    expect(catalog.workspaces.get(id)).toBeUndefined();
    expect(catalog.live.source(id)).toBeUndefined();
    expect(catalog.live.program(id)).toBeUndefined();
  },
);

test("lists come in pages, ordered by creation", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const names = Array.from({ length: PAGE_ITEMS_MAX + 5 }, (_, index) => `Source ${index}`);
  await Promise.all(names.map((name) => catalog.sources.create(workspaceId, { name })));
  const pages = [1, 2, 3].map((page) => catalog.sources.list(workspaceId, page));
  expect(pages.map(({ total }) => total)).toEqual(Array(3).fill(names.length));
  expect(pages.map(({ items }) => items.length)).toEqual([PAGE_ITEMS_MAX, 5, 0]);
  expect(pages.flatMap(({ items }) => items.map(({ name }) => name))).toEqual(names);
});

describe("sources", () => {
  test("an update keeps the fields that it does not name", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const input = { name: "Site", config: { tag: 1 } };
    const { id } = await catalog.sources.create(workspaceId, input);
    const after = await catalog.sources.update(workspaceId, id, { enabled: false });
    expect(after).toMatchObject({ ...input, enabled: false });
    expect(catalog.sources.get(workspaceId, id)).toEqual(after);
  });

  test("a rotated write key works at once, and the old one no longer", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const before = await catalog.sources.create(workspaceId, { name: "Site" });
    expect(catalog.live.source(before.writeKey)?.id).toBe(before.id);
    const after = await catalog.sources.rotateWriteKey(workspaceId, before.id);
    expect(catalog.live.source(before.writeKey)).toBeUndefined();
    expect(catalog.live.source(after.writeKey)?.id).toBe(before.id);
  });

  test("a removed source takes its connections with it", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const source = await catalog.sources.create(workspaceId, { name: "Site" });
    const pair = { sourceId: source.id, destinationId: await destination(catalog, workspaceId) };
    await catalog.connections.create(workspaceId, pair, {});
    await catalog.sources.remove(workspaceId, source.id);
    expect(catalog.connections.list(workspaceId, 1).total).toBe(0);
    expect(catalog.live.lanes()).toEqual([]);
    expect(catalog.live.source(source.writeKey)).toBeUndefined();
    const again = () => catalog.sources.remove(workspaceId, source.id);
    expect((await refusalOf(again)).refusal).toBe("missing");
  });
});

describe("connections", () => {
  test("a source and a destination are connected at most once", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const source = await catalog.sources.create(workspaceId, { name: "Site" });
    const pair = { sourceId: source.id, destinationId: await destination(catalog, workspaceId) };
    const made = await catalog.connections.create(workspaceId, pair, { "1": 4 });
    expect(made.from).toEqual({ "1": 4 });
    const twice = () => catalog.connections.create(workspaceId, pair, {});
    expect((await refusalOf(twice)).refusal).toBe("conflict");
    await catalog.connections.remove(workspaceId, made.id);
    expect((await catalog.connections.create(workspaceId, pair, {})).id).not.toBe(made.id);
  });

  test("a connection needs both ends in its workspace", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const other = (await catalog.workspaces.create("Other")).id;
    const source = await catalog.sources.create(workspaceId, { name: "Site" });
    const foreign = { sourceId: source.id, destinationId: await destination(catalog, other) };
    const join = () => catalog.connections.create(workspaceId, foreign, {});
    expect((await refusalOf(join)).refusal).toBe("missing");
  });

  test("a connection to a disabled destination routes nothing", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const source = await catalog.sources.create(workspaceId, { name: "Site" });
    const destinationId = await destination(catalog, workspaceId);
    await catalog.destinations.update(workspaceId, destinationId, { enabled: false }, {});
    const pair = { sourceId: source.id, destinationId };
    const made = await catalog.connections.create(workspaceId, pair, { "1": 3 });
    expect(made).toMatchObject({ enabled: true, from: { "1": 3 }, until: { "1": 3 } });
  });

  test("a connection is live while it and its destination are enabled", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const source = await catalog.sources.create(workspaceId, { name: "Site" });
    const destinationId = await destination(catalog, workspaceId);
    const pair = { sourceId: source.id, destinationId };
    const { id } = await catalog.connections.create(workspaceId, pair, { "1": 1 });
    const now = () => catalog.connections.get(workspaceId, id);

    await catalog.destinations.update(workspaceId, destinationId, { enabled: false }, { "1": 5 });
    expect(now()).toMatchObject({ from: { "1": 1 }, until: { "1": 5 }, enabled: true });
    await catalog.connections.update(workspaceId, id, { enabled: false }, { "1": 6 });
    expect(now()).toMatchObject({ from: { "1": 1 }, until: { "1": 5 }, enabled: false });
    await catalog.destinations.update(workspaceId, destinationId, { enabled: true }, { "1": 7 });
    expect(now()).toMatchObject({ from: { "1": 1 }, until: { "1": 5 } });
    await catalog.connections.update(workspaceId, id, { enabled: true }, { "1": 8 });
    expect(now().from).toEqual({ "1": 8 });
    expect(now().until).toBeUndefined();
    expect(now().earlier).toEqual([{ from: { "1": 1 }, until: { "1": 5 } }]);
  });
});

describe("a connection with other ends", () => {
  async function connected() {
    const { catalog, workspaceId } = await freshWorkspace();
    const source = async (name: string) => (await catalog.sources.create(workspaceId, { name })).id;
    const pair = {
      sourceId: await source("Site"),
      destinationId: await destination(catalog, workspaceId),
    };
    const made = await catalog.connections.create(
      workspaceId,
      { ...pair, externalId: "hook" },
      { "1": 1 },
    );
    const update = (input: object, logEnds = { "1": 9 }) =>
      catalog.connections.update(workspaceId, made.id, input, logEnds);
    return { catalog, workspaceId, source, pair, made, update };
  }

  test("delivers from now on there, under the same id, and lanes see another connection", async () => {
    const { catalog, workspaceId, source, pair, made, update } = await connected();
    await update({ enabled: false }, { "1": 3 });
    await update({ enabled: true }, { "1": 5 });
    const laneIds = () => catalog.live.lanes().flatMap((it) => it.connections.map(({ id }) => id));
    expect(laneIds()).toEqual([made.id]);
    const seen = new Set(laneIds());
    for (const ends of [
      { destinationId: await destination(catalog, workspaceId) },
      { sourceId: await source("Shop") },
      pair,
    ]) {
      const after = await update(ends);
      expect(after).toMatchObject({ ...ends, id: made.id, externalId: "hook", from: { "1": 9 } });
      expect([after.until, after.earlier]).toEqual([undefined, undefined]);
      expect(catalog.connections.get(workspaceId, made.id)).toEqual(after);
      const [lane, ...others] = catalog.live.lanes();
      expect([lane?.destination.id, others]).toEqual([after.destinationId, []]);
      expect(catalog.live.lane(after.destinationId)).toEqual(lane!);
      const [id] = laneIds();
      expect(seen.has(id!)).toBe(false);
      seen.add(id!);
      // The same ends again are no change of the route.
      await update(ends);
      expect(laneIds()).toEqual([id!]);
    }
    expect(catalog.connections.list(workspaceId, 1).total).toBe(1);
  });

  test("is refused for ends that do not exist, are another workspace's, or are connected", async () => {
    const { catalog, workspaceId, source, pair, made, update } = await connected();
    const other = (await catalog.workspaces.create("Other")).id;
    const theirs = (await catalog.sources.create(other, { name: "Theirs" })).id;
    const taken = { sourceId: await source("Shop"), destinationId: pair.destinationId };
    await catalog.connections.create(workspaceId, taken, {});
    for (const [ends, refusal] of [
      [{ sourceId: newId() }, "missing"],
      [{ sourceId: theirs }, "missing"],
      [{ destinationId: newId() }, "missing"],
      [{ destinationId: await destination(catalog, other) }, "missing"],
      [taken, "conflict"],
    ] as const) {
      expect((await refusalOf(() => update(ends))).refusal).toBe(refusal);
    }
    expect(catalog.connections.get(workspaceId, made.id)).toEqual(made);
  });

  test.each(["sources", "destinations"] as const)(
    "restores it when it was removed with one of its %s",
    async (kind) => {
      const { catalog, workspaceId, source, pair, made, update } = await connected();
      const key = kind === "sources" ? "sourceId" : "destinationId";
      await catalog[kind].remove(workspaceId, pair[key]);
      expect((await refusalOf(() => update({ enabled: true }))).refusal).toBe("missing");
      const get = () => catalog.connections.get(workspaceId, made.id);
      expect((await refusalOf(get)).refusal).toBe("missing");
      const next =
        kind === "sources" ? await source("Next") : await destination(catalog, workspaceId);
      const after = await update({ ...pair, [key]: next });
      expect(after).toMatchObject({ ...pair, [key]: next, id: made.id, externalId: "hook" });
      expect([after.from, after.enabled]).toEqual([{ "1": 9 }, true]);
      expect(get()).toEqual(after);
      expect(catalog.connections.list(workspaceId, 1, true).items).toEqual([after]);
    },
  );

  test("does not restore one that was removed itself, is another workspace's, or is too old", async () => {
    const { catalog, workspaceId, pair, made, update } = await connected();
    const other = (await catalog.workspaces.create("Other")).id;
    const source = await catalog.sources.create(other, { name: "Theirs" });
    const ends = { sourceId: source.id, destinationId: await destination(catalog, other) };
    await catalog.destinations.remove(workspaceId, pair.destinationId);
    const theirs = () => catalog.connections.update(other, made.id, ends, {});
    expect((await refusalOf(theirs)).refusal).toBe("missing");

    const destinationId = await destination(catalog, workspaceId);
    // A day more, because other tests of this process may have set the clock back by an hour: an
    // age is the smallest that is then possible.
    const restoreTime = passTime((REMOVED_CONNECTION_SECONDS_MAX + 86_400) * 1_000);
    const late = await refusalOf(() => update({ destinationId }));
    restoreTime();
    expect(late.refusal).toBe("missing");

    await update({ destinationId });
    await catalog.connections.remove(workspaceId, made.id);
    expect((await refusalOf(() => update({ destinationId }))).refusal).toBe("missing");
  });

  test("restores the connections of a workspace that were removed last, up to a bound", async () => {
    const { catalog, workspaceId, source, made, update } = await connected();
    const crowd = await destination(catalog, workspaceId);
    await catalog.destinations.remove(workspaceId, made.destinationId);
    setSystemTime(Date.now() + 1_000);
    const numbers = Array.from({ length: REMOVED_CONNECTIONS_OF_WORKSPACE_MAX }, (_, n) => n);
    const sourceIds = await Promise.all(numbers.map((n) => source(`Source ${n}`)));
    const later = await Promise.all(
      sourceIds.map(async (sourceId) => {
        const pair = { sourceId, destinationId: crowd };
        return (await catalog.connections.create(workspaceId, pair, {})).id;
      }),
    );
    await catalog.destinations.remove(workspaceId, crowd);
    setSystemTime();
    const destinationId = await destination(catalog, workspaceId);
    expect((await refusalOf(() => update({ destinationId }))).refusal).toBe("missing");
    const restored = await catalog.connections.update(
      workspaceId,
      later[0]!,
      { destinationId },
      {},
    );
    expect(restored.destinationId).toBe(destinationId);
  });
});

describe("destinations", () => {
  test("a removed destination takes its connections and its link with it", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const source = await catalog.sources.create(workspaceId, { name: "Site" });
    const destinationId = await destination(catalog, workspaceId);
    await catalog.connections.create(workspaceId, { sourceId: source.id, destinationId }, {});
    const revision = await store(catalog, workspaceId, "transformation");
    await publish(catalog, revision);
    await catalog.code.link(workspaceId, revision.id, destinationId);
    await catalog.destinations.remove(workspaceId, destinationId);
    expect(catalog.connections.list(workspaceId, 1).total).toBe(0);
    expect(catalog.code.linkedDestinations(workspaceId, revision.id)).toEqual([]);
    expect(catalog.live.program(destinationId)).toBeUndefined();
    expect(catalog.live.destination(destinationId)).toBeUndefined();
  });

  test("a destination keeps its config when an update has none", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const id = await destination(catalog, workspaceId);
    const after = await catalog.destinations.update(workspaceId, id, { name: "Renamed" }, {});
    expect(after).toMatchObject({ name: "Renamed", type: "file", config: { path: "out.jsonl" } });
  });
});

describe("credentials", () => {
  test("credentials are listed without their values", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const made = await catalog.credentials.put(workspaceId, "apiKey", "s3cret-value");
    const again = await catalog.credentials.put(workspaceId, "apiKey", "another-value");
    expect(again.id).toBe(made.id);
    const listed = catalog.credentials.list(workspaceId, 1);
    expect(listed).toEqual({ items: [again], total: 1 });
    expect(JSON.stringify([made, listed])).not.toContain("value");
  });

  test.each([
    ["", "v"],
    ["1a", "v"],
    ["a-b", "v"],
    ["a".repeat(CREDENTIAL_NAME_CHARS_MAX + 1), "v"],
  ])("the name %j is refused", async (name, value) => {
    const { catalog, workspaceId } = await freshWorkspace();
    const refused = await refusalOf(() => catalog.credentials.put(workspaceId, name, value));
    expect(refused.refusal).toBe("invalid");
    expect(refused.details?.[0]?.path).toBe("/name");
    expect(catalog.credentials.list(workspaceId, 1).total).toBe(0);
  });

  test("the values of a workspace are bounded together, and may be replaced or shortened", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const { id: other } = await catalog.workspaces.create("Other");
    const value = "v".repeat(CREDENTIAL_VALUE_CHARS_MAX);
    const put = (name: string, text: string, owner = workspaceId) =>
      catalog.credentials.put(owner, name, text);
    const count = CREDENTIAL_VALUES_CHARS_MAX / CREDENTIAL_VALUE_CHARS_MAX;
    for (let n = 0; n < count; n++) await put(`c${n}`, value);
    const refusal = await refusalOf(() => put("more", "v"));
    expect([refusal.refusal, refusal.details?.[0]?.path]).toEqual(["invalid", "/value"]);
    await put("c0", value.replaceAll("v", "w"));
    await put("empty", "");
    await put("c0", "short");
    await put("more", "v");
    expect((await refusalOf(() => put("c0", value))).refusal).toBe("invalid");
    await put("c0", value, other);
  });

  test("the longest name is kept, and removal forgets the value", async () => {
    const { catalog, workspaceId } = await freshWorkspace();
    const name = "a".repeat(CREDENTIAL_NAME_CHARS_MAX);
    const { id } = await catalog.credentials.put(workspaceId, name, "v");
    expect(catalog.credentials.list(workspaceId, 1).items[0]?.name).toBe(name);
    await catalog.credentials.remove(workspaceId, id);
    expect(catalog.credentials.list(workspaceId, 1).total).toBe(0);
    expect((await catalog.credentials.put(workspaceId, name, "w")).id).not.toBe(id);
  });
});
