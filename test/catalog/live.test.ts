import { expect, onTestFinished, test } from "bun:test";
import { openStore } from "../../src/catalog/store.ts";
import { topologyChanges } from "../../src/catalog/tables/topology-changes.ts";
import { destination, freshDirectory, freshWorkspace, logger, publish, store } from "./_setup.ts";

async function linkedProgram() {
  const { catalog, workspaceId } = await freshWorkspace();
  const library = await store(catalog, workspaceId, "library", { name: "Lib", code: "lib 1" });
  const user = await store(catalog, workspaceId, "transformation", { name: "User" });
  await publish(catalog, library);
  await publish(catalog, user, ["lib"]);
  const destinationId = await destination(catalog, workspaceId);
  await catalog.code.link(workspaceId, user.id, destinationId);
  return { catalog, workspaceId, library, user, destinationId };
}

test("a program is the published code with its libraries and credentials", async () => {
  const { catalog, workspaceId, library, user, destinationId } = await linkedProgram();
  await catalog.credentials.put(workspaceId, "__proto__", "odd");
  await catalog.credentials.put(workspaceId, "apiKey", "secret");
  const program = catalog.live.program(destinationId);
  expect(program).toMatchObject({ workspaceId, transformation: user, libraries: [library] });
  expect(JSON.stringify(program?.credentials)).toBe('{"__proto__":"odd","apiKey":"secret"}');
});

test("a program is the same object while no part of it changes", async () => {
  const { catalog, workspaceId, destinationId } = await linkedProgram();
  const program = catalog.live.program(destinationId);
  expect(program).toBeDefined();
  expect(catalog.live.program(destinationId)).toBe(program);
  const unrelated = await store(catalog, workspaceId, "transformation");
  await publish(catalog, unrelated);
  expect(catalog.live.program(destinationId)).toBe(program);
});

test("a program's id changes with the code, a library or a credential", async () => {
  const { catalog, workspaceId, library, user, destinationId } = await linkedProgram();
  const ids = new Set([catalog.live.program(destinationId)?.id]);
  const nothing = { publish: [], links: [], usedLibraries: [] };

  const lib2 = catalog.code.revise(workspaceId, "library", library.id, { code: "lib 2" });
  const item = { kind: lib2.kind, id: lib2.id, versionId: lib2.versionId, imports: [] };
  const change = { ...nothing, revisions: [lib2], publish: [item], testedImporters: [user] };
  await catalog.code.commit(workspaceId, change);
  expect(catalog.live.program(destinationId)?.libraries).toEqual([lib2]);
  ids.add(catalog.live.program(destinationId)?.id);

  const user2 = catalog.code.revise(workspaceId, "transformation", user.id, { code: "two" });
  await catalog.code.commit(workspaceId, { ...nothing, revisions: [user2] });
  expect(catalog.live.program(destinationId)?.transformation).toEqual(user);
  await publish(catalog, user2, ["lib"]);
  ids.add(catalog.live.program(destinationId)?.id);

  const { id } = await catalog.credentials.put(workspaceId, "a", "1");
  ids.add(catalog.live.program(destinationId)?.id);
  await catalog.credentials.put(workspaceId, "a", "2");
  ids.add(catalog.live.program(destinationId)?.id);
  await catalog.credentials.remove(workspaceId, id);
  ids.add(catalog.live.program(destinationId)?.id);
  expect(ids.size).toBe(6);
});

test("a Python program has the libraries of its libraries", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const python = { language: "python" as const };
  const inner = await store(catalog, workspaceId, "library", { name: "inner", ...python });
  const outer = await store(catalog, workspaceId, "library", { name: "outer", ...python });
  const user = await store(catalog, workspaceId, "transformation", {
    ...python,
    language: "pythonfaas",
  });
  await publish(catalog, inner);
  await publish(catalog, outer, ["json", "inner"]);
  await publish(catalog, user, ["outer", "json"]);
  const destinationId = await destination(catalog, workspaceId);
  await catalog.code.link(workspaceId, user.id, destinationId);
  const names = catalog.live.program(destinationId)?.libraries.map(({ importName }) => importName);
  expect(names).toEqual(["outer", "inner"]);
});

test("topology and lanes change with sources, destinations and connections", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const seen = [catalog.live.topology()];
  const source = await catalog.sources.create(workspaceId, { name: "Site" });
  seen.push(catalog.live.topology());
  const destinationId = await destination(catalog, workspaceId);
  seen.push(catalog.live.topology());
  expect(catalog.live.lanes()).toEqual([]);
  const pair = { sourceId: source.id, destinationId };
  const connection = await catalog.connections.create(workspaceId, pair, {});
  seen.push(catalog.live.topology());
  const lanes = catalog.live.lanes();
  expect(lanes).toEqual([
    {
      destination: catalog.destinations.get(workspaceId, destinationId),
      connections: [connection],
    },
  ]);
  await store(catalog, workspaceId, "transformation");
  expect(catalog.live.lanes()).toBe(lanes);
  expect(catalog.live.lane(destinationId)).toEqual(lanes[0]!);
  await catalog.connections.remove(workspaceId, connection.id);
  seen.push(catalog.live.topology());
  expect(new Set(seen).size).toBe(seen.length);
  expect(catalog.live.lanes()).toEqual([]);
  expect(catalog.live.lane(destinationId)).toBeUndefined();
  expect(catalog.live.sourceById(source.id)).toEqual(source);
});

test("each change names the destinations that it concerns", async () => {
  const { catalog, workspaceId } = await freshWorkspace();
  const { live, sources, destinations, connections } = catalog;
  const changed = async (change: () => Promise<unknown>) => {
    const before = live.topology();
    await change();
    return [...(live.changedSince(before) ?? ["unknown"])].sort();
  };
  const site = await sources.create(workspaceId, { name: "Site" });
  const one = await destination(catalog, workspaceId);
  const two = await destination(catalog, workspaceId);
  expect(live.changedSince(live.topology())).toEqual(new Set());
  const edit = () => sources.update(workspaceId, site.id, { name: "Shop" });
  expect(await changed(edit)).toEqual([]);
  const rename = () => destinations.update(workspaceId, one, { name: "Sink" }, {});
  expect(await changed(rename)).toEqual([one]);
  const connect = (destinationId: string) =>
    connections.create(workspaceId, { sourceId: site.id, destinationId }, {});
  const { id } = await connect(one);
  const move = () => connections.update(workspaceId, id, { destinationId: two }, {});
  expect(await changed(move)).toEqual([one, two].sort());
  expect(await changed(() => connections.remove(workspaceId, id))).toEqual([two]);
  await connect(one);
  expect(await changed(() => destinations.remove(workspaceId, one))).toEqual([one]);
  await connect(two);
  expect(await changed(() => sources.remove(workspaceId, site.id))).toEqual([two]);
});

test("a change that is too old, or names too many destinations, counts for every destination", async () => {
  const raw = openStore(await freshDirectory(), logger);
  onTestFinished(() => raw.close());
  const topology = topologyChanges(raw);
  const record = (times: number, ids: string[] = ["d"]) =>
    raw.change(() => {
      for (let n = 0; n < times; n++) topology.record(ids);
    });
  await record(1_000);
  const now = raw.epoch("topology");
  expect(topology.changedSince(now - 1_000)).toEqual(new Set(["d"]));
  await record(1);
  expect(topology.changedSince(now - 1_000)).toBeUndefined();
  expect(topology.changedSince(now)).toEqual(new Set(["d"]));
  await record(
    1,
    Array.from({ length: 1_001 }, (_, n) => `d${n}`),
  );
  expect(topology.changedSince(now)).toBeUndefined();
  // An older version advances the topology without a note of the change.
  await raw.change(() => raw.advance("topology"));
  expect(topology.changedSince(raw.epoch("topology") - 1)).toBeUndefined();
});
