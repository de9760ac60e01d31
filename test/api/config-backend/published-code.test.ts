import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startApi, type TestApi } from "../_setup.ts";

/** Requests of a rudder-transformer to the address that its CONFIG_BACKEND_URL names. */
let api: TestApi;
let token: string;
beforeAll(async () => {
  api = await startApi();
  token = await api.tokenWith(["workspace-config:read"]);
});
afterAll(() => api.stop());

const code = "export function transformEvent(event) { return event; }";

async function publish(kind: "transformations" | "libraries", body: object, secret = api.token) {
  const path = `/${kind}?publish=true`;
  const made = await api.send("POST", path, { body, token: secret });
  expect(made.status).toBe(200);
  return made.body as { id: string; versionId: string };
}

/** Asks as rudder-transformer does: with the secret as the user name of Basic, if it has one. */
async function ask(path: string, secret: string | null = token, of = api) {
  const authorization = `Basic ${btoa(`${secret}:`)}`;
  const answer = await fetch(of.url + path, {
    headers: secret === null ? {} : { authorization },
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const ofTransformation = (versionId: string) =>
  `/transformation/getByVersionId?versionId=${versionId}`;
const ofLibrary = (versionId: string) =>
  `/transformationLibrary/getByVersionId?versionId=${versionId}`;

describe("stored code for rudder-transformer", () => {
  test("has all that its engine reads", async () => {
    const body = { name: "My T", description: "d", language: "javascript", code };
    const { id, versionId } = await publish("transformations", body);
    const found = await ask(ofTransformation(versionId));
    expect(found.status).toBe(200);
    expect(found.body).toMatchObject({ id, versionId, name: "My T", code, codeVersion: "1" });
    expect(found.body).toMatchObject({
      workspaceId: api.workspaceId,
      language: "javascript",
      imports: [],
    });
    const library = { name: "cool library", language: "javascript", code: "export const a = 1;" };
    const made = await publish("libraries", library);
    expect((await ask(ofLibrary(made.versionId))).body).toMatchObject({
      versionId: made.versionId,
      name: "cool library",
      code: "export const a = 1;",
      importName: "coolLibrary",
      handleName: "coolLibrary",
    });
  });

  test("is 404 for a draft, for the other kind, and without a version", async () => {
    const body = { name: "Draft", language: "javascript", code };
    const draft = await api.send("POST", "/transformations?publish=false", { body });
    const library = { name: "other lib", language: "javascript", code: "export const a = 1;" };
    const { versionId } = await publish("libraries", library);
    const paths = [
      ofTransformation(draft.body.versionId),
      ofTransformation(versionId),
      ofLibrary("x".repeat(27)),
      "/transformation/getByVersionId",
      "/rudderstackTransformationLibraries/unheardOf?version=v1",
      "/rudderstackTransformationLibraries/hash?version=v2",
    ];
    for (const path of paths) expect([path, (await ask(path)).status]).toEqual([path, 404]);
  });

  test("is that of the token's workspace alone", async () => {
    const other = await api.catalog.workspaces.create("Other");
    const secret = await api.tokenWith(["workspace-config:read"], other.id);
    const mine = await publish("transformations", { name: "Mine", language: "javascript", code });
    expect((await ask(ofTransformation(mine.versionId), secret)).status).toBe(404);
    expect((await ask(ofTransformation(mine.versionId))).status).toBe(200);
  });

  test("libraries with RudderStack's names are found", async () => {
    const found = await ask("/rudderstackTransformationLibraries/hash?version=v1");
    expect(found.body).toMatchObject({ name: "hash", importName: "@rs/hash/v1" });
  });

  test("without a token, and with one that lacks the permission, nothing is found", async () => {
    const lacking = await api.tokenWith(["events:read"]);
    const path = "/rudderstackTransformationLibraries/hash?version=v1";
    for (const of of [path, ofTransformation("x"), ofLibrary("x")]) {
      expect((await ask(of, null)).status).toBe(401);
      expect((await ask(of, "pm_wrong")).status).toBe(401);
      expect((await ask(of, lacking)).status).toBe(403);
    }
  });
});

test("a setting lets a rudder-transformer without a secret read code, but no page in a browser", async () => {
  const open = await startApi({ opensCode: true });
  try {
    const body = { name: "T", language: "javascript", code };
    const { body: made } = await open.send("POST", "/transformations?publish=true", { body });
    const path = ofTransformation(made.versionId);
    expect((await ask(path, null, open)).body).toMatchObject({ code });
    expect((await ask(path, "pm_wrong", open)).status).toBe(401);
    const rebound = await fetch(open.url + path, { headers: { host: "attacker.test" } });
    expect(rebound.status).toBe(403);
    expect((await ask("/workspaceConfig", null, open)).status).toBe(401);
  } finally {
    await open.stop();
  }
});

test("a token of the first workspace reads the code of all where the settings name a namespace", async () => {
  const all = await startApi({ namespace: "main" });
  try {
    const other = await all.catalog.workspaces.create("Other");
    const editor = await all.tokenWith(
      ["transformations:create-delete", "transformations:edit"],
      other.id,
    );
    const body = { name: "T", language: "javascript", code };
    const path = "/transformations?publish=true";
    const { body: made } = await all.send("POST", path, { body, token: editor });
    const first = await all.tokenWith(["workspace-config:read"]);
    expect((await ask(ofTransformation(made.versionId), first, all)).status).toBe(200);
    const second = await all.tokenWith(["workspace-config:read"], other.id);
    const { body: mine } = await all.send("POST", path, { body });
    expect((await ask(ofTransformation(mine.versionId), second, all)).status).toBe(404);
  } finally {
    await all.stop();
  }
});

test("beyond the rate of requests the code is asked for again, not given up", async () => {
  const slow = await startApi({ requestsPerSecondMax: 1 });
  try {
    const secret = await slow.tokenWith(["workspace-config:read"]);
    const path = "/rudderstackTransformationLibraries/hash?version=v1";
    const statuses: number[] = [];
    for (let sent = 0; sent < 30; sent++) statuses.push((await ask(path, secret, slow)).status);
    expect([...new Set(statuses)].sort()).toEqual([200, 503]);
  } finally {
    await slow.stop();
  }
});

describe("what a rudder-server reports", () => {
  const post = (path: string, body: string) =>
    fetch(api.url + path, {
      method: "POST",
      headers: { authorization: `Basic ${btoa(`${token}:`)}`, "content-type": "application/json" },
      body,
    });

  test("its features are answered 204, as it expects", async () => {
    const features = JSON.stringify({ components: [{ name: "gateway", features: ["a"] }] });
    for (const kind of ["workspaces", "namespaces"]) {
      const path = `/data-plane/v1/${kind}/${api.workspaceId}/settings`;
      expect((await post(path, features)).status).toBe(204);
    }
  });

  test("live events of any size and form are answered 200 at once, and dropped", async () => {
    const large = "x".repeat(8 << 20);
    for (const body of ["{}", "no JSON", large]) {
      for (const kind of ["v2/eventUploads", "v2/eventDeliveryStatus", "eventTransformStatus"]) {
        expect((await post(`/dataplane/${kind}`, body)).status).toBe(200);
      }
    }
  });

  test("no user is suppressed", async () => {
    const path = `/dataplane/workspaces/${api.workspaceId}/regulations/suppressions?pageSize=100`;
    expect((await ask(path)).body).toEqual({ items: [], token: "none" });
  });
});
