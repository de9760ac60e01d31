import { expect, test } from "bun:test";
import { serverReportRoutes } from "../../../src/api/routes/config-backend/server-reports.ts";
import { destinationTestRoutes } from "../../../src/api/routes/resources/destination-tests.ts";
import { destinationTypeRoutes } from "../../../src/api/routes/resources/destination-types.ts";
import { tokenRoutes } from "../../../src/api/routes/resources/tokens.ts";
import { workspaceRoutes } from "../../../src/api/routes/resources/workspace.ts";
import type { ApiError } from "../../../src/errors.ts";

/** Answers of routes that need no server, and what they ask of the catalog. */

type Routes = readonly { key: string }[];
const send = (routes: Routes, key: string, call: object = {}): any => {
  const route = routes.find((it) => it.key === key) as unknown as { handle(call: object): any };
  return route.handle({ workspaceId: "w", params: {}, query: {}, ...call });
};

test("a workspace has the fields that rudder-cli needs, with constant values", () => {
  const deps = (found?: object) => ({
    catalog: { workspaces: { get: (id: string) => (id === "w" ? found : undefined) } },
    dataPlaneUrl: () => "http://data.test",
  });
  const workspace = { id: "w", name: "Acme" };
  const asked = (found?: object) =>
    send(workspaceRoutes, "GET /v2/workspace", { deps: deps(found) });
  expect(asked({ ...workspace, secret: "s" })).toStrictEqual({
    workspace: {
      ...{ ...workspace, environment: "PRODUCTION", status: "ACTIVE", region: "SELF-HOSTED" },
      dataPlaneURL: "http://data.test",
    },
  });
  expect(() => asked()).toThrow("Workspace not found");
});

test("rudder-cli finds nothing of the products that only RudderStack's cloud has", () => {
  const keys = workspaceRoutes.map(({ key }) => key);
  const catalogues = keys.filter((key) => !["GET /v2/workspace", "GET /v2/accounts"].includes(key));
  expect(catalogues).toHaveLength(8);
  for (const key of catalogues) expect(send(workspaceRoutes, key)).toEqual({});
  expect(send(workspaceRoutes, "GET /v2/accounts")).toEqual({ data: [], paging: {} });
});

test("rudder-server reports to its own workspace, and finds no user to suppress", () => {
  const of = (workspace: string) => ({ params: { workspace } });
  const settings = "POST /data-plane/v1/workspaces/{workspace}/settings";
  const suppressions = "GET /dataplane/workspaces/{workspace}/regulations/suppressions";
  expect(send(serverReportRoutes, settings, of("w"))).toBeUndefined();
  const none = { items: [], token: "none" };
  expect(send(serverReportRoutes, suppressions, of("w"))).toEqual(none);
  for (const key of [settings, suppressions]) {
    expect(() => send(serverReportRoutes, key, of("x"))).toThrow("the workspace of the token");
  }
  const namespaced = "/namespaces/{namespace}/";
  const key = `GET /dataplane${namespaced}regulations/suppressions`;
  expect(send(serverReportRoutes, key)).toEqual(none);
  expect(send(serverReportRoutes, `POST /data-plane/v1${namespaced}settings`)).toBeUndefined();
  expect(send(serverReportRoutes, "POST /dataplane/v2/eventUploads")).toEqual({});
});

test("the types of destinations are those of pixelmill, then those of rudder-server", () => {
  const configSchema = { type: "object", properties: { key: { type: "string" } } };
  const kind = { kind: "own", configSchema, secretKeys: [{ path: "key" }] };
  const definition = { name: "GA4", displayName: "Analytics", config: {} };
  const deps = {
    kinds: new Map([["own", kind]]),
    definitions: { destinations: () => [definition] },
  };
  const { destinationTypes, paging } = send(destinationTypeRoutes, "GET /v2/destination-types", {
    deps,
  });
  const [own, theirs, ...others] = destinationTypes;
  expect([others, paging]).toEqual([[], { total: 2 }]);
  expect(own).toStrictEqual({
    ...{ type: "own", deliveredBy: "pixelmill" },
    config: { type: "object", properties: { key: { type: "string", writeOnly: true } } },
  });
  expect(theirs).toMatchObject({
    ...{ type: "GA4", displayName: "Analytics", deliveredBy: "rudder-server" },
  });
});

test("a new token has each permission once, its member and its end, and its secret this once", async () => {
  const asked: unknown[] = [];
  const create = async (...given: unknown[]) => {
    asked.push(given);
    const token = { id: "k", name: "N", permissions: [], createdAt: 1_000, lastUsedAt: 2_000 };
    return { token, secret: "pm_s" };
  };
  const deps = { catalog: { tokens: { create } } };
  const made = (body: object) =>
    send(tokenRoutes, "POST /v2/tokens", { deps, body, principal: "caller" });
  const permissions = ["events:read", "events:read", "audit:read"];
  const { answer, tag } = await made({ name: " N ", permissions });
  const times = ["1970-01-01T00:00:01.000Z", "1970-01-01T00:00:02.000Z"];
  expect(answer.token).toStrictEqual({
    ...{ id: "k", name: "N", permissions: [], createdAt: times[0], lastUsedAt: times[1] },
    secret: "pm_s",
  });
  expect(tag).toMatch(/^[\w-]+$/);
  await made({ name: "N", memberId: "m", expiresAt: times[1] });
  expect(asked).toStrictEqual([
    ["w", { name: "N", permissions: ["events:read", "audit:read"] }, "caller"],
    ["w", { name: "N", permissions: [], memberId: "m", expiresAt: 2_000 }, "caller"],
  ]);
  const refused = await made({ name: "N" }).catch((error: unknown) => error);
  expect((refused as ApiError).details).toEqual([
    { path: "/permissions", message: "Expected permissions or a memberId, got neither" },
  ]);
});

test("a connection test of a destination that lacks a setting fails at once, and names the setting", async () => {
  const kind = {
    ...{ kind: "own", configSchema: { type: "object", properties: { url: {} } }, secretKeys: [] },
    validate: () => [{ path: "/url", message: "Expected a URL, got nothing" }],
  };
  const stored: Record<string, object> = {
    lacking: { type: "own", config: {} },
    theirs: { type: "own", config: {}, deliveredBy: "rudder-server" },
  };
  const deps = {
    kinds: new Map([["own", kind]]),
    catalog: { destinations: { get: (_: string, id: string) => stored[id] } },
  };
  const tried = (id: string) =>
    send(destinationTestRoutes, "POST /v2/destinations/{id}/test", { deps, params: { id } });
  expect(await tried("lacking")).toStrictEqual({
    ok: false,
    steps: [
      { step: "resolve", ok: false, message: "url: Expected a URL, got nothing", durationMs: 0 },
    ],
  });
  await expect(tried("theirs")).rejects.toThrow("got one that rudder-server delivers");
});
