import { expect, spyOn, test } from "bun:test";
import { gunzipSync } from "node:zlib";
import {
  connectionsJson,
  destinationJson,
  sourceJson,
} from "../../../src/api/config-backend/resource-json.ts";
import { ConfigBody, WorkspaceConfigs } from "../../../src/api/config-backend/workspace-configs.ts";
import { until } from "../../until.ts";

/** The JSON that rudder-server reads, byte for byte of what its parser asks for. */

const [createdAt, updatedAt] = [1_000, 2_000];
const times = { createdAt: "1970-01-01T00:00:01.000Z", updatedAt: "1970-01-01T00:00:02.000Z" };
const stored = { workspaceId: "w", enabled: false, createdAt, updatedAt };

test("a destination has its settings, its code, and the definition of its type", () => {
  const definition = {
    ...{ name: "HOOK", displayName: "Hook", category: null, defaults: { a: 1 } },
    config: { supported: ["web"], destConfig: { defaultConfig: ["a"], web: ["mode"] } },
  };
  const config = { secret: "clear", mode: { web: "cloud" } };
  const destination = { ...stored, id: "d", name: "D", type: "hook", config };
  const json = (link?: object) => {
    const routed = { destination, definition, connections: [], link };
    return JSON.parse(destinationJson(routed as never, "web"));
  };
  const expected = {
    ...{ id: "d", name: "D", enabled: false, workspaceId: "w", revisionId: "d-2000" },
    ...{ isProcessorEnabled: true, isConnectionEnabled: true, deleted: false },
    ...{ config: { a: 1, secret: "clear", mode: "cloud" }, secretConfig: {}, transformations: [] },
    ...times,
    destinationDefinition: {
      ...{ id: "HOOK", name: "HOOK", displayName: "Hook", category: null },
      config: definition.config,
    },
  };
  expect(json()).toEqual(expected);
  const link = { id: "t", versionId: "v", language: "javascript" };
  const transformations = [{ ...link, config: {} }];
  expect(json(link)).toEqual({ ...expected, transformations });
});

test("a source has the definition of its type, its destinations, and only the settings that it has", () => {
  const definition = { name: "Javascript", type: "web", category: null };
  const source = { ...stored, id: "s", name: "S", writeKey: "k", type: "t", config: { a: 1 } };
  const json = (more: object, destinations: string[] = []) =>
    JSON.parse(sourceJson({ ...source, ...more } as never, definition as never, destinations));
  const expected = {
    ...{ id: "s", name: "S", writeKey: "k", enabled: false, workspaceId: "w", config: { a: 1 } },
    sourceDefinition: { ...definition, id: "Javascript", displayName: "Javascript" },
    ...{ ...times, deleted: false, destinations: [] as object[] },
  };
  expect(json({})).toStrictEqual(expected);
  const destinations = [{ id: "d" }, { id: "e" }];
  const texts = destinations.map((it) => JSON.stringify(it));
  expect(json({ transient: false, geoEnrichmentEnabled: true }, texts)).toStrictEqual({
    ...{ ...expected, transient: false, geoEnrichment: { enabled: true }, destinations },
  });
});

test("connections are members of an object by their ids", () => {
  const connections = ["1", "2"].map((id) => {
    return { id, sourceId: `s${id}`, destinationId: `d${id}`, enabled: true };
  });
  const value = { enabled: true, processorEnabled: true, config: {} };
  expect(JSON.parse(`{${connectionsJson(connections as never)}}`)).toEqual({
    1: { sourceId: "s1", destinationId: "d1", ...value },
    2: { sourceId: "s2", destinationId: "d2", ...value },
  });
  expect(connectionsJson([])).toBe("");
});

test("a configuration is compressed once, after its second request", async () => {
  const body = new ConfigBody(new Blob(['{"a":1}']), "tag", 5);
  const read = spyOn(body.json, "arrayBuffer");
  expect([body.tag, body.updatedAt]).toEqual(["tag", 5]);
  expect(body.compressed()).toBeUndefined();
  expect(read).toHaveBeenCalledTimes(0);
  expect(body.compressed()).toBeUndefined();
  expect(read).toHaveBeenCalledTimes(1);
  await until(() => body.compressed() !== undefined);
  expect(read).toHaveBeenCalledTimes(1);
  const bytes = await body.compressed()!.arrayBuffer();
  expect(gunzipSync(bytes).toString()).toBe('{"a":1}');
});

test("the configurations of several workspaces leave out those that have not changed, by clocks a minute apart", async () => {
  const configs = new WorkspaceConfigs({} as never);
  const bodies: Record<string, ConfigBody> = {
    a: new ConfigBody(new Blob(['{"n":1}']), "t1", 100_000),
    b: new ConfigBody(new Blob(['{"n":2}']), "t2", 200_000),
  };
  spyOn(configs, "of").mockImplementation(async (id) => bodies[id]!);
  const textOf = async (ids: string[], after?: number) => {
    const body = await configs.ofAll(ids, after);
    return [await body.json.text(), body.updatedAt];
  };
  expect(await textOf(["a", "b"])).toEqual(['{"a":{"n":1},"b":{"n":2}}', 200_000]);
  expect(await textOf(["b"])).toEqual(['{"b":{"n":2}}', 200_000]);
  expect(await textOf([])).toEqual(["{}", 0]);
  expect(await textOf(["a", "b"], 159_999)).toEqual(['{"a":{"n":1},"b":{"n":2}}', 200_000]);
  expect(await textOf(["a", "b"], 160_000)).toEqual(['{"a":null,"b":{"n":2}}', 200_000]);
  expect(await textOf(["a", "b"], 260_000)).toEqual(['{"a":null,"b":null}', 200_000]);

  const first = await configs.ofAll(["a", "b"]);
  expect(await configs.ofAll(["a", "b"])).toBe(first);
  const tags = [first.tag];
  for (const [ids, after] of [
    [["b", "a"], 0],
    [["a", "b"], 160_000],
    [["a"], 0],
  ] as const) {
    tags.push((await configs.ofAll(ids, after)).tag);
  }
  bodies.b = new ConfigBody(bodies.b!.json, "t3", 200_000);
  tags.push((await configs.ofAll(["a", "b"])).tag);
  expect(new Set(tags).size).toBe(tags.length);
});
