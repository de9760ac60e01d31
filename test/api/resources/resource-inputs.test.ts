import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { createLimiters } from "../../../src/api/limiters.ts";
import { connectionRoutes } from "../../../src/api/routes/resources/connections.ts";
import { credentialRoutes } from "../../../src/api/routes/resources/credentials.ts";
import { destinationRoutes } from "../../../src/api/routes/resources/destinations.ts";
import { memberRoutes } from "../../../src/api/routes/resources/members.ts";
import { sourceRoutes } from "../../../src/api/routes/resources/sources.ts";

/** Calls of the catalog by the routes of resources, and their answers. */

const kind = {
  ...{ kind: "own", configSchema: Type.Object({ url: Type.String() }), secretKeys: [] },
  validate: ({ url }: { url?: string }) =>
    url === undefined ? [{ path: "/url", message: "Expected a URL, got nothing" }] : [],
  endpoint: ({ url }: { url?: string }) => url,
};
const stamps = { workspaceId: "w", createdAt: 1_000, updatedAt: 2_000 };
const shownStamps = {
  ...{ workspaceId: "w", createdAt: "1970-01-01T00:00:01.000Z" },
  updatedAt: "1970-01-01T00:00:02.000Z",
};
const routes: readonly { key: string }[] = [
  ...[...sourceRoutes, ...destinationRoutes, ...connectionRoutes, ...memberRoutes],
  ...credentialRoutes,
];

/** Sends a request to a route; returns its answer and what the catalog was asked, in order. */
async function send(key: string, call: object = {}, stored: object = {}) {
  const asked: unknown[][] = [];
  const item = { ...stamps, id: "i", ...stored };
  const table = new Proxy(
    {},
    {
      get: (_, name: string) =>
        name === "each" || name === "eachOf"
          ? (...given: unknown[]) => asked.push([name, ...given]) && [item]
          : (...given: unknown[]) => {
              asked.push([name, ...given]);
              return name === "list" ? { items: [item], total: 1 } : item;
            },
    },
  );
  const names = ["sources", "destinations", "connections", "members", "credentials"];
  const deps = {
    catalog: {
      ...Object.fromEntries(names.map((name) => [name, table])),
      code: { linkedTransformation: ({ linked }: { linked?: string }) => linked },
    },
    ...{ limiters: createLimiters(0), headers: "masked", kinds: new Map([["own", kind]]) },
    definitions: { destination: () => undefined },
    pipeline: { logEnds: async () => ({ p: 5 }) },
  };
  const route = routes.find((it) => it.key === key) as never as { handle(call: object): any };
  const context = {
    ...{ deps, workspaceId: "w", principal: "caller", params: { id: "i" }, query: {}, body: {} },
    request: new Request("http://x/"),
  };
  const answer = await route.handle({ ...context, ...call });
  return { answer: answer?.answer ?? answer, asked };
}
const askedOf = async (key: string, body: object) => (await send(key, { body })).asked;

describe("a source", () => {
  const [CREATE, CHANGE] = ["POST /v2/sources", "PUT /v2/sources/{id}"];

  test("is created and changed with what the request has, its name without spaces around it", async () => {
    expect(await askedOf(CREATE, { name: " Shop " })).toStrictEqual([
      ["create", "w", { name: "Shop" }],
    ]);
    const own = { enabled: false, geoEnrichmentEnabled: true, transient: false };
    const settings = { ip: "drop" };
    const made = { ...own, settings, type: "http", externalId: "e" };
    expect(await askedOf(CREATE, { ...made, name: "S", config: null })).toStrictEqual([
      ["create", "w", { ...made, name: "S", config: {} }],
    ]);
    expect(await askedOf(CHANGE, {})).toStrictEqual([["update", "w", "i", {}]]);
    const change = { ...own, settings, config: { a: 1 } };
    expect(await askedOf(CHANGE, { ...change, name: " N " })).toStrictEqual([
      ["update", "w", "i", { ...change, name: "N" }],
    ]);
  });

  test("is answered with all its settings, and the type as its client wrote it", async () => {
    const source = { name: "S", type: "javascript", writeKey: "k", enabled: true, config: {} };
    const answerOf = async (more: object) =>
      (await send("GET /v2/sources/{id}", {}, { ...source, ...more })).answer.source;
    const settings = {
      ...{ geoEnrichment: false, ip: "keep", bots: "keep", allowedOrigins: [], dedupSeconds: 0 },
    };
    expect(await answerOf({})).toStrictEqual({ id: "i", ...source, settings, ...shownStamps });
    const more = { typeAs: "Javascript", externalId: "e", settings: { bots: "drop" } };
    expect(await answerOf(more)).toMatchObject({
      ...{ type: "Javascript", externalId: "e", settings: { ...settings, bots: "drop" } },
    });
  });
});

describe("a member", () => {
  test("has each permission once, and its name without spaces around it", async () => {
    const permissions = ["events:read", "audit:read", "events:read"];
    const member = { email: "ada@a.test", role: "admin" };
    const once = { ...member, permissions: permissions.slice(0, 2) };
    const CREATE = "POST /v2/members";
    expect(await askedOf(CREATE, { ...member, name: " Ada " })).toStrictEqual([
      ["create", "w", { ...member, name: "Ada" }, "caller"],
    ]);
    expect(await askedOf(CREATE, { ...member, name: "Ada", permissions })).toStrictEqual([
      ["create", "w", { ...once, name: "Ada" }, "caller"],
    ]);
    const CHANGE = "PUT /v2/members/{id}";
    expect(await askedOf(CHANGE, {})).toStrictEqual([["update", "w", "i", {}, "caller"]]);
    expect(await askedOf(CHANGE, { ...member, name: " A ", permissions })).toStrictEqual([
      ["update", "w", "i", { ...once, name: "A" }, "caller"],
    ]);
  });
});

describe("a connection", () => {
  test("begins at the ends of the logs, also after a change", async () => {
    const ends = { sourceId: "s", destinationId: "d" };
    expect(await askedOf("POST /v2/connections", ends)).toStrictEqual([
      ["create", "w", ends, { p: 5 }],
    ]);
    for (const path of ["", "/external-id"]) {
      expect(await askedOf(`PUT /v2/connections/{id}${path}`, ends)).toStrictEqual([
        ["update", "w", "i", ends, { p: 5 }],
      ]);
    }
  });

  test("is listed among those of one of its ends, or among all", async () => {
    const asked = async (query: object) =>
      (await send("GET /v2/connections", { query })).asked.map(([name, ...given]) => [name, given]);
    expect(await asked({})).toEqual([["list", ["w", 1, undefined]]]);
    expect(await asked({ page: 3, hasExternalId: true })).toEqual([["list", ["w", 3, true]]]);
    const ends = { sourceId: "s", destinationId: undefined };
    expect(await asked({ sourceId: "s" })).toEqual([["eachOf", ["w", ends]]]);
    const other = { sourceId: undefined, destinationId: "d" };
    expect(await asked({ destinationId: "d" })).toEqual([["eachOf", ["w", other]]]);
  });
});

test("a credential is set by its name", async () => {
  const body = { name: "KEY", value: "v" };
  expect(await askedOf("POST /v2/credentials", body)).toStrictEqual([["put", "w", "KEY", "v"]]);
});

describe("a destination", () => {
  const [CREATE, CHANGE] = ["POST /v2/destinations", "PUT /v2/destinations/{id}"];
  const config = { url: "https://a.test/" };

  test("is created with what the request has, and with its type as the client wrote it", async () => {
    const made = async (body: object) =>
      (await askedOf(CREATE, { name: " D ", config, ...body }))[0];
    const plain = { name: "D", type: "own", config };
    expect(await made({ type: "own" })).toStrictEqual(["create", "w", plain]);
    expect(await made({ type: "OWN", version: 0 })).toStrictEqual([
      ...["create", "w", { ...plain, typeAs: "OWN" }],
    ]);
    const more = { enabled: false, consentIds: ["c"], filter: { mode: "only" }, externalId: "e" };
    expect(await made({ type: "own", version: 3, ...more, config: null })).toStrictEqual([
      ...["create", "w", { ...plain, version: 3, ...more, config: {} }],
    ]);
    const lacking = { type: "own", config: null };
    for (const enabled of [undefined, true]) {
      const body = enabled === undefined ? lacking : { ...lacking, enabled };
      await expect(made(body)).rejects.toThrow("Expected a URL at /config/url, got nothing");
    }
  });

  test("keeps in a change what the request leaves out, and is enabled only with all settings", async () => {
    const changed = async (body: object) => {
      const [[name, ...given] = []] = await askedOf(CHANGE, body);
      const [workspaceId, id, change, logEnds] = given as [string, string, any, object];
      expect([name, workspaceId, id, logEnds]).toEqual(["update", "w", "i", { p: 5 }]);
      return change;
    };
    expect(await changed({})).toStrictEqual({});
    expect(await changed({ version: 0, enabled: false })).toStrictEqual({ enabled: false });
    const more = { version: 2, consentIds: [], filter: null };
    expect(await changed({ ...more, name: " N " })).toStrictEqual({ ...more, name: "N" });

    const stored = { type: "own", enabled: true, config };
    const off = { ...stored, enabled: false, config: {} };
    const enabling = (await changed({ enabled: true })).config;
    expect(enabling(stored)).toBe(config);
    expect(() => enabling(off)).toThrow("Expected a URL");
    const other = { url: "https://b.test/" };
    const replacing = (await changed({ config: other })).config;
    expect([replacing(stored), replacing(off)]).toEqual([other, other]);
    const emptying = (await changed({ config: null })).config;
    expect(() => emptying(stored)).toThrow("Expected a URL");
    expect(emptying(off)).toEqual({});
    const disabling = (await changed({ config: null, enabled: false })).config;
    expect(disabling(stored)).toEqual({});
    const gone = { ...stored, type: "gone" };
    expect(() => replacing(gone)).toThrow("definition of the destination's type is missing");
  });

  test("is answered with its endpoint and its code, and without settings once its type is unknown", async () => {
    const stored = { name: "D", type: "own", enabled: true, config };
    const answerOf = async (more: object) =>
      (await send("GET /v2/destinations/{id}", {}, { ...stored, ...more })).answer.destination;
    const shown = { ...stored, id: "i", deliveredBy: "pixelmill", version: 1, ...shownStamps };
    expect(await answerOf({})).toStrictEqual({ ...shown, endpoint: config.url, secretsSet: [] });
    const filter = { mode: "only", conditions: [{ path: "type", values: ["a"] }] };
    const more = { typeAs: "OWN", version: 3, consentIds: ["c"], externalId: "e" };
    const deep = { ...filter, conditions: [{ ...filter.conditions[0], tests: [] }], tests: [] };
    expect(await answerOf({ ...more, filter: deep, linked: "t" })).toStrictEqual({
      ...{ ...shown, type: "OWN", version: 3, consentIds: ["c"], externalId: "e", filter },
      ...{ endpoint: config.url, secretsSet: [], transformation: { id: "t" } },
    });
    const lost = { type: "gone", deliveredBy: "rudder-server" };
    expect(await answerOf(lost)).toStrictEqual({ ...shown, ...lost, config: {}, secretsSet: [] });
  });

  test("is listed with others by a part of the name, in pages", async () => {
    const { answer, asked } = await send(
      "GET /v2/destinations",
      { query: { page: 2 } },
      { name: "D", type: "gone" },
    );
    expect(asked).toEqual([["list", "w", 2, undefined]]);
    expect([answer.destinations.length, answer.paging]).toEqual([1, { total: 1 }]);
    const searched = await send("GET /v2/destinations", { query: { text: "d" } }, { name: "D" });
    expect(searched.asked).toEqual([["each", "w"]]);
    expect(searched.answer.paging).toEqual({ total: 1 });
  });
});
