import { afterAll, beforeAll, describe, expect, setSystemTime, test } from "bun:test";
import type { ClientKey } from "../../../src/api/client.ts";
import type { Route } from "../../../src/api/route.ts";
import { routes } from "../../../src/api/route-table.ts";
import { type Permission, permissions } from "../../../src/catalog/model.ts";
import {
  exampleOf,
  inOrder,
  makeThings,
  ofProvider,
  type Request,
  sendExample,
  type Things,
} from "../_examples.ts";
import { startApi, type TestApi } from "../_setup.ts";

/**
 * The matrix token × workspace × route × permission. The permissions of each operation stand
 * here once more, beside the route table.
 */
const connect: Permission[] = ["transformations:connect", "destinations:connect"];
const admin: Permission[] = ["workspace:admin"];
const events: Permission[] = ["events:read"];
const replay: Permission[] = ["events:replay"];
const edit: Permission[] = ["transformations:edit"];
const libraries: Permission[] = ["libraries:edit"];

type DocsKey =
  | "GET /docs"
  | "GET /docs/json"
  | "GET /docs/guide"
  | "GET /docs/guide/{page}"
  | "GET /docs/guide/{page}/{subpage}";
const needs: Record<ClientKey | DocsKey, Permission[] | "open"> = {
  "GET /health": "open",
  "GET /ready": "open",
  "GET /metrics": "open",
  "GET /docs": [],
  "GET /docs/json": [],
  "GET /docs/guide": [],
  "GET /docs/guide/{page}": [],
  "GET /docs/guide/{page}/{subpage}": [],
  "POST /transformations": ["transformations:create-delete"],
  "GET /transformations": [],
  "GET /v2/code": [],
  "GET /transformations/{id}": [],
  "POST /transformations/{id}": edit,
  "DELETE /transformations/{id}": ["transformations:create-delete"],
  "GET /transformations/{id}/versions": [],
  "GET /transformations/{id}/versions/{versionId}": [],
  "POST /transformations/{id}/connectToDestination": connect,
  "POST /transformations/{id}/disconnectFromDestination": connect,
  "PUT /transformations/{id}/external-id": edit,
  "POST /libraries": libraries,
  "GET /libraries": [],
  "GET /libraries/{id}": [],
  "POST /libraries/{id}": libraries,
  "DELETE /libraries/{id}": libraries,
  "GET /libraries/{id}/versions": [],
  "GET /libraries/{id}/versions/{versionId}": [],
  "PUT /libraries/{id}/external-id": libraries,
  // These name one transformation and, but for the last, one library.
  "POST /libraries/publish": [...edit, ...libraries],
  "POST /transformations/publish": [...edit, ...libraries],
  "POST /transformations/libraries/test": [...edit, ...libraries],
  "POST /transformations/tests/run": edit,
  "GET /v2/logs": events,
  "POST /v2/run": [...edit, ...libraries],
  "GET /v2/transformations/{id}/test-cases": [],
  "POST /v2/transformations/{id}/test-cases": edit,
  "PUT /v2/transformations/{id}/test-cases/{caseId}": edit,
  "DELETE /v2/transformations/{id}/test-cases/{caseId}": edit,
  "GET /v2/sources": admin,
  "POST /v2/sources": admin,
  "GET /v2/sources/{id}": admin,
  "PUT /v2/sources/{id}": admin,
  "DELETE /v2/sources/{id}": admin,
  "POST /v2/sources/{id}/rotate-write-key": admin,
  "PUT /v2/sources/{id}/external-id": admin,
  "PUT /v2/destinations/{id}/external-id": admin,
  "PUT /v2/connections/{id}/external-id": admin,
  "POST /v2/event-stream-sources": admin,
  "GET /v2/event-stream-sources/{id}": admin,
  "PUT /v2/event-stream-sources/{id}": admin,
  "DELETE /v2/event-stream-sources/{id}": admin,
  "PUT /v2/event-stream-sources/{id}/external-id": admin,
  "GET /v2/destinations": admin,
  "POST /v2/destinations": admin,
  "GET /v2/destinations/{id}": admin,
  "PUT /v2/destinations/{id}": admin,
  "DELETE /v2/destinations/{id}": admin,
  "POST /v2/destinations/{id}/test": admin,
  "POST /v2/destinations/test": admin,
  "GET /v2/destinations/{id}/transformation": [],
  "PUT /v2/destinations/{id}/transformation": connect,
  "DELETE /v2/destinations/{id}/transformation": connect,
  "GET /v2/connections": admin,
  "POST /v2/connections": admin,
  "GET /v2/connections/{id}": admin,
  "PUT /v2/connections/{id}": admin,
  "DELETE /v2/connections/{id}": admin,
  "GET /v2/members": admin,
  "POST /v2/members": admin,
  "GET /v2/members/{id}": admin,
  "PUT /v2/members/{id}": admin,
  "DELETE /v2/members/{id}": admin,
  "GET /v2/tokens": admin,
  // Its example gives this permission, which the caller has to have.
  "POST /v2/tokens": [...admin, ...edit],
  "DELETE /v2/tokens/{id}": admin,
  "POST /v2/session": "open",
  "GET /v2/session": [],
  "DELETE /v2/session": "open",
  "GET /v2/sign-in": "open",
  "GET /v2/session/oidc": "open",
  "GET /v2/session/oidc/callback": "open",
  "POST /v2/session/oidc/logout": "open",
  "GET /v2/credentials": admin,
  "POST /v2/credentials": admin,
  "DELETE /v2/credentials/{id}": admin,
  "GET /v2/dead-letters": events,
  "GET /v2/suspensions": events,
  "GET /v2/metrics": ["events:read"],
  "GET /v2/metrics/totals": ["events:read"],
  "GET /v2/alerts": events,
  "GET /v2/alerts/rule-kinds": admin,
  "GET /v2/alerts/rules": admin,
  "POST /v2/alerts/rules": admin,
  "GET /v2/alerts/rules/{id}": admin,
  "PUT /v2/alerts/rules/{id}": admin,
  "DELETE /v2/alerts/rules/{id}": admin,
  "GET /v2/alerts/receivers": admin,
  "POST /v2/alerts/receivers": admin,
  "GET /v2/alerts/receivers/{id}": admin,
  "PUT /v2/alerts/receivers/{id}": admin,
  "DELETE /v2/alerts/receivers/{id}": admin,
  "POST /v2/alerts/receivers/{id}/test": admin,
  "GET /v2/overview": events,
  "GET /v2/status/destinations": events,
  "GET /v2/status/destinations/{id}": events,
  "GET /v2/status/sources": events,
  "GET /v2/status/connections": events,
  // One of two, which a test of names shows.
  "GET /v2/status/names": events,
  "GET /v2/system": admin,
  "GET /v2/cluster": admin,
  "GET /v2/destinations/{id}/history": events,
  "GET /v2/destinations/{id}/failure": events,
  "GET /v2/dead-letters/{id}": events,
  "GET /v2/dead-letter-groups": events,
  "GET /v2/dead-letter-groups/{id}": events,
  "POST /v2/dead-letters/replay": replay,
  "POST /v2/dead-letters/purge": replay,
  "GET /v2/replays": ["events:read"],
  "POST /v2/replays": ["events:replay"],
  "GET /v2/replays/{id}": ["events:read"],
  "POST /v2/replays/{id}/cancel": ["events:replay"],
  "GET /v2/events": events,
  "GET /v2/events/recent": events,
  "GET /v2/events/search": events,
  "GET /v2/events/search/export": events,
  "GET /workspaceConfig": ["workspace-config:read"],
  "GET /data-plane/v1/namespaces/{namespace}/config": ["workspace-config:read"],
  "GET /transformation/getByVersionId": ["workspace-config:read"],
  "GET /transformationLibrary/getByVersionId": ["workspace-config:read"],
  "GET /rudderstackTransformationLibraries/{name}": ["workspace-config:read"],
  "POST /data-plane/v1/workspaces/{workspace}/settings": ["workspace-config:read"],
  "POST /data-plane/v1/namespaces/{namespace}/settings": ["workspace-config:read"],
  "POST /dataplane/v2/eventUploads": ["workspace-config:read"],
  "GET /dataplane/workspaces/{workspace}/regulations/suppressions": ["workspace-config:read"],
  "GET /dataplane/namespaces/{namespace}/regulations/suppressions": ["workspace-config:read"],
  "GET /v2/audit": ["audit:read"],
  "GET /v2/audit/export": ["audit:read"],
  "GET /v2/workspace": [],
  "GET /v2/destination-types": [],
  "GET /v2/accounts": [],
  "GET /v2/catalog/categories": [],
  "GET /v2/catalog/events": [],
  "GET /v2/catalog/properties": [],
  "GET /v2/catalog/custom-types": [],
  "GET /v2/catalog/tracking-plans": [],
  "GET /v2/event-stream-sources": [],
  "GET /v2/retl-sources": [],
  "GET /v2/retl-connections": [],
  "GET /v2/data-graphs": [],
};

const neededBy = (route: Route) => needs[route.key as keyof typeof needs];

/** Every way to write a route: its own path and its aliases. */
const cells = (list: readonly Route[]) =>
  list.flatMap((route) => [route.path, ...route.aliases].map((path) => ({ route, path })));

let api: TestApi;
let things: Required<Things>;
const tokens = new Map<string, string>();
beforeAll(async () => {
  api = await startApi();
  things = await makeThings(api);
  // Figures of minutes and ages move with the clock, however long a test takes between two views.
  setSystemTime(new Date());
});
afterAll(() => {
  setSystemTime();
  return api.stop();
});

/** A token with exactly these permissions, made once. */
async function tokenWith(granted: readonly Permission[]): Promise<string> {
  const key = [...granted].sort().join();
  const token = tokens.get(key) ?? (await api.tokenWith([...granted]));
  tokens.set(key, token);
  return token;
}

/** Routes that need one of several permissions. */
const alternatives: Record<string, Permission[]> = {
  "GET /v2/status/names": ["events:read", "workspace:admin"],
};

/** All permissions but these, and but those that include one of these. */
function without(...lacking: Permission[]): Permission[] {
  const including = lacking.includes("audit:read") ? admin : [];
  return permissions.filter((it) => ![...lacking, ...including].includes(it));
}

test("the table of permissions has every route", () => {
  expect(Object.keys(needs).sort()).toEqual(routes.map(({ key }) => key).sort());
});

describe("an invalid token", () => {
  test("is 401 on every route that needs a token", async () => {
    const expired = await api.catalog.tokens.create(api.workspaceId, {
      name: "expired",
      permissions: [...permissions],
      expiresAt: Date.now() - 1,
    });
    const revoked = await api.catalog.tokens.create(api.workspaceId, {
      name: "revoked",
      permissions: [...permissions],
    });
    await api.catalog.tokens.revoke(api.workspaceId, revoked.token.id);
    for (const token of [null, "nonsense", "pm_", expired.secret, revoked.secret]) {
      for (const { route, path } of cells(routes)) {
        if (neededBy(route) === "open") continue;
        const { status } = await sendExample(api, exampleOf(route, things, path), { token });
        expect([route.method, path, status]).toEqual([route.method, path, 401]);
      }
    }
  });
});

describe("a token without a permission", () => {
  test("is 403 on every route that needs the permission, which the message names", async () => {
    for (const { route, path } of cells(routes)) {
      const needed = neededBy(route);
      if (needed === "open") continue;
      for (const permission of needed) {
        const lacking = alternatives[route.key] ?? [permission];
        const token = await tokenWith(without(...lacking));
        const refused = await sendExample(api, exampleOf(route, things, path), { token });
        expect([route.method, path, permission, refused.status, refused.body.message]).toEqual([
          route.method,
          path,
          permission,
          403,
          `The token lacks the permission ${lacking.join(" or ")}`,
        ]);
      }
    }
  });

  const create = (query: string, more: object) => ({
    method: "POST",
    path: `/transformations${query}`,
    body: JSON.stringify({ name: "T", language: "javascript", code: "", ...more }),
  });
  const conditions: [string, (things: Things) => Request, Permission[]][] = [
    ["create and publish by query", () => create("?publish=true", {}), edit],
    ["create and publish by body", () => create("", { publish: true }), edit],
    [
      "create with destinationIds",
      (it) => create("?publish=true", { destinationIds: [it.destination] }),
      connect,
    ],
    [
      "create with destinations",
      (it) => create("?publish=true", { destinations: [it.destination] }),
      connect,
    ],
    [
      "update with destinations",
      (it) => ({
        method: "POST",
        path: `/transformations/${it.transformation}?publish=true`,
        body: JSON.stringify({ destinations: [{ id: it.destination }] }),
      }),
      connect,
    ],
    [
      "publish a library",
      (it) => ({
        method: "POST",
        path: "/libraries/publish",
        body: JSON.stringify({ libraries: [it.libraryVersion] }),
      }),
      libraries,
    ],
    [
      "publish a transformation",
      (it) => ({
        method: "POST",
        path: "/libraries/publish",
        body: JSON.stringify({ transformations: [it.transformationVersion] }),
      }),
      edit,
    ],
  ];

  test.each(conditions)("%s needs every additional permission", async (_, request, needed) => {
    const before = JSON.stringify(await view(api.token));
    for (const permission of needed) {
      const token = await tokenWith(without(permission));
      const refused = await sendExample(api, request(things), { token });
      expect([refused.status, refused.body.message]).toEqual([
        403,
        `The token lacks the permission ${permission}`,
      ]);
    }
    expect(JSON.stringify(await view(api.token))).toBe(before);
  });

  test("is 403 before the body is read, when no body could be permitted", async () => {
    const token = await tokenWith(["destinations:connect"]);
    for (const path of ["/v2/run", "/libraries/publish", "/transformations/tests/run"]) {
      const refused = await api.send("POST", path, { token, body: "{ no JSON" });
      expect([path, refused.status, refused.body.message]).toEqual([
        path,
        403,
        "The token lacks the permission transformations:edit or libraries:edit",
      ]);
    }
    const creator = await tokenWith(["transformations:create-delete"]);
    const sent = { token: creator, body: "{ no JSON" };
    expect((await api.send("POST", "/transformations?publish=true", sent)).status).toBe(403);
    expect((await api.send("POST", "/transformations", sent)).status).toBe(400);
  });

  test("needs no additional permission when the condition does not hold", async () => {
    const alone = await tokenWith(edit);
    const published = await sendExample(
      api,
      {
        method: "POST",
        path: "/libraries/publish",
        body: JSON.stringify({ transformations: [things.transformationVersion] }),
      },
      { token: alone },
    );
    expect(published.body).toEqual({ published: true });
    const draft = await sendExample(api, create("", { destinations: [things.destination] }), {
      token: await tokenWith(["transformations:create-delete"]),
    });
    expect(draft.status).toBe(200);
  });
});

/** Everything of a workspace that its routes show; uses of tokens move by themselves. */
async function view(token: string): Promise<unknown[]> {
  const seen: unknown[] = [];
  for (const { method, path, media, status } of routes) {
    if (status === 303) continue;
    if (method !== "GET" || path.includes("{") || media || !/^\/(v2|tr|li)/.test(path)) continue;
    // Figures move by themselves.
    if (path === "/v2/system" || path.startsWith("/v2/metrics")) continue;
    const { text } = await api.send("GET", path, { token });
    const body = JSON.parse(text, (key, value) =>
      ["rates", "receivedPerSecond", "asOf"].includes(key) ? undefined : value,
    );
    for (const item of body.tokens ?? []) delete item.lastUsedAt;
    seen.push(body);
  }
  return seen;
}

describe("another workspace", () => {
  let stranger: string;
  beforeAll(async () => {
    const { id } = await api.catalog.workspaces.create("Stranger");
    stranger = await api.tokenWith([...permissions], id);
  });

  test("sees no item of this workspace in any list", async () => {
    const seen = JSON.stringify(await view(stranger));
    for (const [name, id] of Object.entries(things)) {
      expect([name, seen.includes(id)]).toEqual([name, false]);
    }
  });

  test("gets the same answer for this workspace's ids as for unknown ids, and changes nothing", async () => {
    const before = JSON.stringify(await view(api.token));
    const unknown = Object.fromEntries(
      Object.keys(things).map((name) => [name, "0ERUZ96HUotHxDSfYqPCHPEXHW2"]),
    );
    let sealed = 0;
    for (const { route, path } of cells(routes)) {
      const request = exampleOf(route, things, path);
      const named = Object.values(things).some((id) => JSON.stringify(request).includes(id));
      if (!named || needs[route.key as keyof typeof needs] === "open") continue;
      const theirs = await sendExample(api, request, { token: stranger });
      const none = await sendExample(api, exampleOf(route, unknown, path), { token: stranger });
      // Lists of ids are taken and do nothing; everything else does not exist.
      const silent = /dead-letters\/(replay|purge)$/.test(path);
      expect([route.method, path, theirs.status]).toEqual([route.method, path, silent ? 200 : 404]);
      expect([path, theirs.text]).toEqual([path, none.text]);
      sealed++;
    }
    expect(sealed).toBeGreaterThan(30);
    expect(JSON.stringify(await view(api.token))).toBe(before);
  });

  test("cannot connect its items to an item of this workspace", async () => {
    const own = await makeThings(api, stranger);
    const before = JSON.stringify([await view(api.token), await view(stranger)]);
    let mixed = 0;
    for (const { route, path } of cells(routes)) {
      const sent = JSON.stringify(exampleOf(route, things, path))
        // The id of a group contains the id of its destination.
        .replace(things.deadLetterGroup, "");
      const named = (Object.keys(things) as (keyof Things)[]).filter((it) =>
        sent.includes(things[it]),
      );
      for (const foreign of named.length > 1 ? named : []) {
        const request = exampleOf(route, { ...own, [foreign]: things[foreign] }, path);
        const { status } = await sendExample(api, request, { token: stranger });
        expect([route.method, path, foreign, status]).toEqual([route.method, path, foreign, 404]);
        mixed++;
      }
    }
    expect(mixed).toBeGreaterThan(15);
    expect(JSON.stringify([await view(api.token), await view(stranger)])).toBe(before);
  });
});

test("a token with exactly the permissions of a route may use it", async () => {
  for (const { route, path } of cells(inOrder)) {
    if (ofProvider.has(route.key)) continue;
    const needed = neededBy(route);
    const token = needed === "open" ? null : await tokenWith(needed);
    const { status, text } = await sendExample(api, exampleOf(route, things, path), { token });
    const shown = status === route.status ? "" : text;
    expect([route.method, path, status, shown]).toEqual([route.method, path, route.status, ""]);
  }
});
