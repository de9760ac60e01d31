import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { RefusedTokens } from "../../../src/api/refused-tokens.ts";
import type { RefusedRequests } from "../../../src/catalog/audit/audit.ts";
import { AUDIT_REFUSALS_PER_MINUTE_MAX } from "../../../src/catalog/audit/limits.ts";
import { createLogger } from "../../../src/observe/log.ts";
import { exampleOf, inOrder, makeThings, sendExample, type Things } from "../_examples.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
let things: Required<Things>;
beforeAll(async () => {
  api = await startApi();
  things = await makeThings(api);
});
afterAll(() => api.stop());

interface Entry {
  id: string;
  action: string;
  request?: { id: string; route: string };
  actor: { tokenId?: string };
  client?: string;
  outcome?: string;
  changes: { path: string; before?: unknown; after?: unknown; isSecret?: boolean }[];
}

async function entries(query = ""): Promise<Entry[]> {
  const { status, body } = await api.send("GET", `/v2/audit?count=100${query}`);
  expect(status).toBe(200);
  return body.entries;
}

async function newestOf(route: string): Promise<Entry | undefined> {
  return (await entries()).find(({ request }) => request?.route === route);
}

describe("an audit entry", () => {
  /** Makes a state in which the example of a route changes something. */
  async function prepare(key: string): Promise<void> {
    const link = `/v2/destinations/${things.destination}/transformation`;
    if (/connectToDestination|^PUT.*\/transformation$/.test(key)) await api.send("DELETE", link);
    if (/disconnectFrom|^DELETE.*\/transformation$/.test(key)) {
      const code = "export const transformEvent = (event) => event";
      const body = { name: "Linked", language: "javascript", code };
      const { id } = (await api.send("POST", "/transformations?publish=true", { body })).body;
      const transformationId = key.startsWith("POST") ? things.transformation : id;
      await api.send("PUT", link, { body: { transformationId } });
    }
    if (key.endsWith("/publish")) {
      const path = `/transformations/${things.transformation}?publish=true`;
      await api.send("POST", path, { body: { description: key } });
    }
  }

  // The logout that an identity provider sends needs one; the tests of sign-in have it.
  const mutating = inOrder.filter(
    ({ method, key }) => method !== "GET" && key !== "POST /v2/session/oidc/logout",
  );

  test("is made by every route that changes something, and by no other", async () => {
    const { tokens } = (await api.send("GET", "/v2/tokens")).body;
    const caller = tokens.find((it: { name: string }) => it.name === "test").id;
    for (const route of mutating) {
      const { key, audit } = route;
      await prepare(key);
      const before = new Set((await entries()).map(({ id }) => id));
      const sent = await sendExample(api, exampleOf(route, things));
      expect([key, sent.status < 300]).toEqual([key, true]);
      const made = (await entries()).filter(({ id }) => !before.has(id));
      const routes = new Set(made.map(({ request }) => request?.route));
      const isSignOut = key === "DELETE /v2/session";
      expect([key, ...routes]).toEqual(audit === "none" || isSignOut ? [key] : [key, key]);
      if (key === "POST /v2/session" || made.length === 0) continue;
      expect([key, made[0]?.actor.tokenId, made[0]?.client]).toEqual([key, caller, "127.0.0.1"]);
    }
  });

  test("of a sign-in and a sign-out names the token", async () => {
    const signedIn = await api.send("POST", "/v2/session", { body: { token: api.token } });
    const cookie = signedIn.headers.get("set-cookie")!.split(";")[0]!;
    const headers = { cookie, origin: api.url, "Content-Type": "application/json" };
    await api.send("DELETE", "/v2/session", { token: null, headers });
    const [end, begin] = await entries("&action=session");
    expect([begin?.action, end?.action]).toEqual(["session.begin", "session.end"]);
    expect(end?.actor).toEqual(begin!.actor);
    expect(begin?.actor).toMatchObject({ tokenName: "test" });
  });

  test("of a purge is stored before it begins, and has its outcome", async () => {
    const body = { filter: { reason: "no such reason" } };
    await api.send("POST", "/v2/dead-letters/purge", { body });
    const purge = await newestOf("POST /v2/dead-letters/purge");
    expect(purge).toMatchObject({
      action: "dead-letter.purge",
      outcome: "done",
      changes: [
        { path: "filter.reason", after: "no such reason" },
        { path: "purged", after: 0 },
      ],
    });
    await api.send("POST", "/v2/dead-letters/purge", { body: {} });
    const failed = await newestOf("POST /v2/dead-letters/purge");
    expect(failed).toMatchObject({ outcome: "failed" });
  });
});

test("no entry has a secret: of configs, credentials, tokens, sources or code", async () => {
  const secret = "s3cr3t-value-that-must-not-appear";
  const config = {
    webhookUrl: `https://hooks.example.com/x?token=${secret}`,
    headers: [{ from: "Authorization", to: `Bearer ${secret}` }],
  };
  const make = async (path: string, body: object) => (await api.send("POST", path, { body })).body;
  const made = await make("/v2/destinations", { name: "D", type: "webhook", config });
  expect(made).toHaveProperty("destination");
  const { id } = made.destination;
  const changed = { headers: [{ from: "Authorization", to: `Bearer ${secret}-2` }] };
  await api.send("PUT", `/v2/destinations/${id}`, { body: { config: { ...config, ...changed } } });
  await make("/v2/credentials", { name: "KEY", value: secret });
  const { token } = await make("/v2/tokens", { name: "T", permissions: ["events:read"] });
  const { source } = await make("/v2/sources", { name: "S" });
  const { body } = await api.send("POST", `/v2/sources/${source.id}/rotate-write-key`);
  await make("/transformations", { name: "C", language: "javascript", code: `// ${secret}` });

  const found = await entries();
  const text = JSON.stringify(found);
  for (const it of [secret, token.secret, source.writeKey, body.source.writeKey]) {
    expect(text).not.toContain(it);
  }
  const update = found.find(({ action }) => action === "destination.update");
  expect(update?.changes).toEqual([{ path: "config.headers", isSecret: true }]);
  const rotated = found.find(({ request }) => request?.route.endsWith("rotate-write-key"));
  expect(rotated?.changes).toEqual([{ path: "writeKey", isSecret: true }]);
});

test("the export has the entries that the list has, a line each", async () => {
  const found = await entries("&action=source");
  const { text, headers } = await api.send("GET", "/v2/audit/export?action=source");
  expect(headers.get("content-disposition")).toContain("audit.jsonl");
  const lines = text.split("\n").filter((line) => line !== "");
  expect(lines.map((line) => JSON.parse(line))).toEqual(found as never);
  expect(found.length).toBeGreaterThan(2);
});

test("the log is read with audit:read alone, or as an administrator", async () => {
  const statuses = async (permission: "audit:read" | "workspace:admin" | "events:read") => {
    const token = await api.tokenWith([permission]);
    return (await api.send("GET", "/v2/audit", { token })).status;
  };
  expect(await statuses("audit:read")).toBe(200);
  expect(await statuses("workspace:admin")).toBe(200);
  expect(await statuses("events:read")).toBe(403);
});

test("another workspace reads no entry of this one", async () => {
  const { id } = await api.catalog.workspaces.create("Stranger");
  const token = await api.tokenWith(["audit:read"], id);
  const { body } = await api.send("GET", `/v2/audit?resource=${things.destination}`, { token });
  expect(body.entries).toEqual([]);
  const own = await api.send("GET", "/v2/audit", { token });
  expect(own.body.entries.map(({ action }: Entry) => action)).toEqual([
    "token.create",
    "workspace.create",
  ]);
});

test("tokens that are refused, as unknown, expired or without a permission, are recorded", async () => {
  const short = { name: "short", permissions: [], expiresAt: Date.now() - 1 };
  const own = await startApi();
  const { id } = own.catalog.workspaces.list()[0]!;
  const weak = await own.tokenWith([]);
  const old = await own.catalog.tokens.create(id, short);
  for (const token of [weak, old.secret, "pm_unknown0000000000000000000000000"]) {
    for (let i = 0; i < 3; i++) await own.send("GET", "/v2/sources", { token });
  }
  await own.send("POST", "/v2/session", { body: { token: old.secret }, token: null });
  const refused: RefusedRequests[] = [];
  const { addRefused } = own.catalog.audit;
  own.catalog.audit.addRefused = async (given) => {
    refused.push(...given);
    await addRefused(given);
  };
  await own.stop();
  const seen = refused.map(({ reason, requests, tokenId }) => [reason, requests, tokenId]);
  expect(seen.sort()).toEqual([
    ["Expired token", 4, old.token.id],
    ["The token lacks the permission workspace:admin", 3, expect.any(String)],
    ["Unknown token", 3, undefined],
  ]);
});

test("a flood of refused tokens becomes a few entries in a minute", async () => {
  const stored: RefusedRequests[] = [];
  const refused = new RefusedTokens(async (given) => {
    stored.push(...given);
  }, createLogger("silent"));
  for (let i = 0; i < 50_000; i++) {
    const client = `192.0.2.${i % 5_000}`;
    refused.note({ workspaceId: "", client, reason: "Unknown token" });
  }
  await refused.flush();
  expect(stored.length).toBe(AUDIT_REFUSALS_PER_MINUTE_MAX + 1);
  const requests = stored.reduce((sum, entry) => sum + entry.requests, 0);
  expect(requests).toBe(50_000);
  await refused.flush();
  expect(stored.length).toBe(AUDIT_REFUSALS_PER_MINUTE_MAX + 1);
});

test("callers that an entry does not name are counted by address, whatever their tokens", async () => {
  const stored: RefusedRequests[] = [];
  const refused = new RefusedTokens(async (given) => {
    stored.push(...given);
  }, createLogger("silent"));
  const busy = { workspaceId: "w", client: "192.0.2.1", reason: "Expired token" };
  for (let caller = 0; caller < AUDIT_REFUSALS_PER_MINUTE_MAX; caller++) {
    for (let i = 0; i < 2; i++) refused.note({ ...busy, tokenId: `busy ${caller}` });
  }
  for (const tokenId of ["a", "b"]) refused.note({ ...busy, client: "192.0.2.2", tokenId });
  refused.note({ ...busy, client: "192.0.2.3", tokenId: "a" });
  await refused.flush();
  expect(stored.at(-1)).toEqual({
    workspaceId: "w",
    reason: "Several reasons",
    requests: 3,
    addresses: 2,
  });
});
