import { afterAll, beforeAll, expect, test } from "bun:test";
import type { Logger } from "../../../src/observe/log.ts";
import { startApi, type TestApi } from "../_setup.ts";

let api: TestApi;
beforeAll(async () => {
  api = await startApi();
}, 300_000);
afterAll(() => api.stop());

/** Lines of requests that were logged meanwhile. */
async function toldOf(work: () => Promise<unknown>): Promise<any[]> {
  const before = api.log().length;
  await work();
  const lines = api.log().slice(before).split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg.startsWith("request"));
}

const code = "export const transformEvent = (event) => event;";

test("a request that changes something is logged with its ids, as done or as refused", async () => {
  const secret = "swordfish-in-the-name";
  let sourceId = "";
  const [made] = await toldOf(async () => {
    const { body } = await api.send("POST", "/v2/sources", {
      body: { name: secret, type: "http" },
    });
    sourceId = body.source.id;
  });
  expect(made).toMatchObject({
    ...{ msg: "request done", route: "POST /v2/sources", workspaceId: api.workspaceId },
    id: sourceId,
  });
  expect(made.tokenId).toBeString();

  const [gone] = await toldOf(() => api.send("DELETE", `/v2/sources/${"x".repeat(27)}`));
  expect(gone).toMatchObject({ msg: "request refused", refusal: "missing" });
  expect(await toldOf(() => api.send("GET", "/v2/sources"))).toEqual([]);
  expect(api.log()).not.toContain(secret);
});

test("a publish is logged with its versions and result", async () => {
  let versionId = "";
  const [made] = await toldOf(async () => {
    const body = { name: "One", language: "javascript", code };
    ({ versionId } = (await api.send("POST", "/transformations", { body })).body);
  });
  expect(made).toMatchObject({ msg: "request done", versionId, published: false });

  const publish = { body: { transformations: [{ versionId }] } };
  const [published] = await toldOf(() => api.send("POST", "/libraries/publish", publish));
  expect(published).toMatchObject({
    msg: "request done",
    versionIds: [versionId],
    published: true,
  });

  const broken = { name: "Two", language: "javascript", code: "export const transformEvent = 1 +" };
  const [refused] = await toldOf(() =>
    api.send("POST", "/transformations?publish=true", { body: broken }),
  );
  expect(refused).toMatchObject({
    ...{ msg: "request refused", refusal: "invalid", reason: "The code does not pass its tests" },
  });
}, 300_000);

test("a request without a valid token is not logged", async () => {
  const body = { name: "Source", type: "http" };
  expect(await toldOf(() => api.send("POST", "/v2/sources", { body, token: null }))).toEqual([]);
});

test("an error that no handler catches shows no code and no directory", async () => {
  const fail = () => {
    throw new Error("ENOSPC: no space left on device, write");
  };
  const logger = { info: fail, warn: fail, error: fail } as unknown as Logger;
  const broken = await startApi({ logger });
  const request = { body: { name: "Web", type: "http" }, token: broken.token };
  const response = await fetch(`${broken.url}/v2/sources`, {
    method: "POST",
    headers: { Authorization: `Bearer ${request.token}`, "Content-Type": "application/json" },
    body: JSON.stringify(request.body),
  });
  const message = "The request failed for a reason of our own; the log has it";
  expect([response.status, await response.json()]).toEqual([500, { message, error: message }]);
  await broken.stop();
});
