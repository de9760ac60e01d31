import { expect, test } from "bun:test";
import { WorkspaceConfig } from "../../../src/api/config-backend/workspace-configs.ts";
import { TimeSlicer } from "../../../src/concurrency/time-slicer.ts";

/** Reads of the configuration of a workspace, over a catalog in memory. */

const item = (id: string, more: object = {}) => ({
  ...{ id, workspaceId: "w", name: id, type: "hook", enabled: true, config: {}, writeKey: "k" },
  ...{ createdAt: 0, updatedAt: 0, ...more },
});

/** A catalog with the source `s`, which feeds the destinations that rudder-server delivers. */
function catalogOf() {
  const state = {
    ...{ topology: 1, programs: 1, link: undefined as object | undefined },
    ...{ changed: undefined as string[] | undefined, libraries: ["l1"], isBroken: false },
    sources: [item("s")],
    destinations: [item("d", { deliveredBy: "rudder-server" })],
    connections: [{ id: "c", sourceId: "s", destinationId: "d", enabled: true }],
  };
  const reads: string[] = [];
  const warnings: unknown[] = [];
  const parts = {
    slicer: new TimeSlicer(),
    logger: { warn: (fields: object) => void warnings.push(fields) },
    definitions: {
      source: () => ({ name: "Hook", type: "web", category: null }),
      destination: (type: string) =>
        type === "hook" ? { name: "HOOK", displayName: "Hook", config: {} } : undefined,
    },
    catalog: {
      sources: {
        each: () => {
          reads.push("sources");
          if (state.isBroken) throw new Error("The disk is gone");
          return state.sources;
        },
      },
      destinations: {
        each: () => {
          reads.push("destinations");
          return state.destinations;
        },
      },
      live: {
        credentials: () => ({ KEY: "value" }),
        destination(id: string) {
          reads.push(id);
          return state.destinations.find((it) => it.id === id);
        },
      },
      routing: {
        topology: () => state.topology,
        programs: () => state.programs,
        changedSince: (topology: number) => {
          reads.push(`since ${topology}`);
          return state.changed;
        },
        connectionsOf: (id: string) => state.connections.filter((it) => it.destinationId === id),
        publishedLink: () => state.link,
        publishedLibraries: () => state.libraries,
      },
    },
  };
  const config = new WorkspaceConfig(parts as never, "w");
  const read = async () => JSON.parse(await (await config.current()).json.text());
  const readsOf = async (act: () => unknown) => {
    reads.length = 0;
    await act();
    return reads.splice(0);
  };
  return { state, config, read, readsOf, warnings };
}

test("a configuration has all of its workspace, and is read once until the catalog changes", async () => {
  const { read, config, readsOf, warnings } = catalogOf();
  expect(await read()).toMatchObject({
    ...{ enableMetrics: false, workspaceId: "w", libraries: [{ versionId: "l1" }] },
    credentials: { KEY: { key: "KEY", value: "value", isSecret: true } },
    connections: { c: { sourceId: "s", destinationId: "d" } },
    sources: [{ id: "s", destinations: [{ id: "d", transformations: [] }] }],
  });
  const body = await config.current();
  expect(await readsOf(async () => expect(await config.current()).toBe(body))).toEqual([]);
  expect(warnings).toEqual([]);
});

test("a change of the topology lets the sources and the changed destinations be read", async () => {
  const { state, read, readsOf } = catalogOf();
  await read();
  state.topology = 2;
  state.changed = ["e"];
  state.destinations.push(item("e", { deliveredBy: "rudder-server" }));
  state.connections.push({ id: "c2", sourceId: "s", destinationId: "e", enabled: true });
  let found: any;
  const again = async () => {
    found = await read();
  };
  expect(await readsOf(again)).toEqual(["since 1", "sources", "e"]);
  expect(found.sources[0].destinations.map(({ id }: { id: string }) => id)).toEqual(["d", "e"]);
  // A connection that is disabled, and a destination that is gone or another's.
  for (const change of [
    () => Object.assign(state.connections[1]!, { enabled: false }),
    () => {
      state.connections[1]!.enabled = true;
      state.destinations.pop();
    },
  ]) {
    change();
    state.topology += 1;
    found = await read();
    expect(found.sources[0].destinations.map(({ id }: { id: string }) => id)).toEqual(["d"]);
    expect(Object.keys(found.connections)).toEqual(["c"]);
  }
});

test("an unknown change lets all be read", async () => {
  const { state, read, readsOf } = catalogOf();
  await read();
  state.topology = 2;
  state.sources = [];
  expect(await readsOf(read)).toEqual(["since 1", "sources", "destinations", "d"]);
  expect((await read()).sources).toEqual([]);
});

test("a change of the programs lets links and libraries be read, and no source", async () => {
  const { state, read, readsOf } = catalogOf();
  await read();
  const link = { id: "t", versionId: "v1", language: "javascript" };
  Object.assign(state, { programs: 2, link, libraries: ["l2"], changed: [] });
  expect(await readsOf(read)).toEqual(["since 1"]);
  const found = await read();
  expect(found.libraries).toEqual([{ versionId: "l2" }]);
  expect(found.sources[0].destinations[0].transformations).toMatchObject([
    { id: "t", versionId: "v1" },
  ]);
  for (const other of [{ ...link, versionId: "v2" }, { ...link, id: "u" }, undefined]) {
    Object.assign(state, { programs: state.programs + 1, link: other });
    const [{ destinations }] = (await read()).sources;
    const versions = destinations[0].transformations.map(({ id, versionId }: any) => [
      id,
      versionId,
    ]);
    expect(versions).toEqual(other ? [[other.id, other.versionId]] : []);
  }
});

test("a change that changes nothing of the configuration leaves its body and its time", async () => {
  const { state, config } = catalogOf();
  const before = await config.current();
  Object.assign(state, { topology: 2, changed: ["unknown"] });
  expect(await config.current()).toBe(before);
  Object.assign(state, { topology: 3, sources: [item("s", { name: "New", updatedAt: 1 })] });
  const after = await config.current();
  expect(after.tag).not.toBe(before.tag);
  expect(after.updatedAt).toBeGreaterThan(before.updatedAt);
});

test("callers at once share one read, and one that comes after a change reads again", async () => {
  const { state, read, config, readsOf } = catalogOf();
  const many = () => Promise.all([config.current(), config.current(), config.current()]);
  expect(await readsOf(many)).toEqual(["sources", "destinations", "d"]);
  Object.assign(state, { topology: 2, changed: [] });
  state.sources = [item("s"), item("t")];
  const first = read();
  // The read of the first caller has read the sources before.
  await new Promise((resolve) => setImmediate(resolve));
  Object.assign(state, { topology: 3 });
  state.sources = [item("s"), item("t"), item("u")];
  const second = await read();
  expect(second.sources.map(({ id }: { id: string }) => id)).toEqual(["s", "t", "u"]);
  expect((await first).sources.length).toBeGreaterThanOrEqual(2);
});

test("after a read that failed, all is read again", async () => {
  const { state, read, readsOf } = catalogOf();
  await read();
  Object.assign(state, { topology: 2, changed: [], isBroken: true });
  const ended = await Promise.allSettled([read(), read()]);
  expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await expect(read()).rejects.toThrow("The disk is gone");
  state.isBroken = false;
  expect(await readsOf(read)).toEqual(["sources", "destinations", "d"]);
});

test("a destination whose type has no definition is left out, and the log names it", async () => {
  const { state, read, warnings } = catalogOf();
  state.destinations = [
    ...[item("odd", { type: "odd", deliveredBy: "rudder-server" }), item("own")],
    item("foreign", { workspaceId: "x", deliveredBy: "rudder-server" }),
  ];
  state.connections = state.destinations.map(({ id }) => {
    return { id: `c-${id}`, sourceId: "s", destinationId: id, enabled: true };
  });
  const { sources, connections } = await read();
  expect([sources[0].destinations, connections]).toEqual([[], {}]);
  expect(warnings).toEqual([{ destinationId: "odd", type: "odd" }]);
});
