import { afterAll, afterEach, beforeAll, describe, expect, mock, spyOn, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { RouteDeps } from "../../../src/api/deps.ts";
import { handleRequest } from "../../../src/api/request/handle.ts";
import { jsonResponse } from "../../../src/api/response/errors.ts";
import { route } from "../../../src/api/route.ts";
import { ApiError, type Refusal } from "../../../src/errors.ts";
import { LoopLateness } from "../../../src/observe/loop-lateness.ts";
import { PAGE_ITEMS_MAX } from "../../../src/settings/limits.ts";
import { startApi, type TestApi } from "../_setup.ts";

/** A broken invariant costs its own request alone: 500, and a log line that names it. */
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterEach(() => mock.restore());
afterAll(() => api.stop());

const failed = "The request failed for a reason of our own; the log has it";

async function expectBroken(path: string, invariant: string): Promise<void> {
  const before = api.failures().length;
  const answer = await api.send("GET", path, { unchecked: true });
  expect(answer.status).toBe(500);
  expect(answer.body).toEqual({
    message: failed,
    ...(path.startsWith("/v2") && { error: failed }),
  });
  const lines = api.failures().slice(before);
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    msg: "invariant broken",
    err: { message: `Broken invariant: ${invariant}` },
  });
  expect((await api.send("GET", "/health", { token: null })).status).toBe(200);
}

describe("a broken invariant answers its request 500 and is logged by name:", () => {
  test("a page that has more items than its limit", async () => {
    const source = await api.catalog.sources.create(api.workspaceId, { name: "Shop" });
    const items = Array.from({ length: PAGE_ITEMS_MAX + 1 }, () => source);
    spyOn(api.catalog.sources, "list").mockReturnValue({ items, total: items.length });
    const invariant = "A page has at most PAGE_ITEMS_MAX items, and not more than there are";
    await expectBroken("/v2/sources", invariant);
  });

  test("a page that has more items than its total", async () => {
    const source = await api.catalog.sources.create(api.workspaceId, { name: "Shop" });
    spyOn(api.catalog.sources, "list").mockReturnValue({ items: [source], total: 0 });
    const invariant = "A page has at most PAGE_ITEMS_MAX items, and not more than there are";
    await expectBroken("/sources", invariant);
  });

  test("a refusal that has no status", async () => {
    spyOn(api.catalog.sources, "list").mockImplementation(() => {
      throw new ApiError("made-up" as Refusal, "Expected nothing");
    });
    await expectBroken("/v2/sources", "Every refusal has a status");
  });

  test("a token that belongs to no workspace", async () => {
    const principal = { workspaceId: "", tokenId: "t", permissions: new Set<never>() };
    spyOn(api.catalog.tokens, "authenticate").mockReturnValue(principal);
    await expectBroken("/v2/sources", "A token belongs to a workspace");
  });
});

describe("a handler that breaks an invariant of responses rejects:", () => {
  const answers = async (status: 200 | 204, answer: unknown) => {
    const broken = route("GET /broken", {
      summary: "Breaks",
      needs: "open",
      status,
      answer: Type.Unknown(),
      example: { answer: undefined },
      handle: () => answer,
    });
    const request = new Request("http://127.0.0.1/broken");
    const deps: RouteDeps = Object.assign(Object.create(null), { hosts: [] });
    const listener = { deps, closing: request.signal, lateness: new LoopLateness() };
    return await handleRequest(broken, listener, { request, server: null });
  };

  test("a status that is neither the route's nor an error's", async () => {
    const invariant = "A route answers its own status, 304 or one of the table of errors";
    await expect(answers(200, jsonResponse({}, 202))).rejects.toThrow(invariant);
    await expect(answers(200, jsonResponse({}, 302))).rejects.toThrow(invariant);
    expect((await answers(200, jsonResponse({}, 503))).status).toBe(503);
  });

  test("a response that was sent before", async () => {
    const response = jsonResponse({}, 200);
    await (await answers(200, response)).text();
    await expect(answers(200, response)).rejects.toThrow("A response is sent once");
  });

  test("no body where the route has one, and a body where it has none", async () => {
    const invariant = "A route answers a body unless its status is 204";
    await expect(answers(200, undefined)).rejects.toThrow(invariant);
    await expect(answers(204, {})).rejects.toThrow(invariant);
    expect((await answers(204, undefined)).status).toBe(204);
  });
});
