import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import type { RouteDeps } from "../../../src/api/deps.ts";
import { createLimiters } from "../../../src/api/limiters.ts";
import {
  API_BURST_SECONDS,
  BODY_BYTES_PER_REQUEST,
  LONG_BODIES_MAX,
  REFUSAL_DELAY_MS,
  SMALL_BODY_BYTES_MAX,
} from "../../../src/api/limits.ts";
import { handleRequest } from "../../../src/api/request/handle.ts";
import { route } from "../../../src/api/route.ts";
import { routes } from "../../../src/api/route-table.ts";
import { LoopLateness } from "../../../src/observe/loop-lateness.ts";
import { IDLE_CONNECTION_SECONDS_MAX } from "../../../src/settings/limits.ts";
import { configSchema } from "../../../src/settings/schema.ts";
import { until } from "../../until.ts";
import { startApi } from "../_setup.ts";

afterEach(() => mock.restore());

test("a request above the workspace's rate is 429 with Retry-After, and open routes have no rate", async () => {
  const api = await startApi({ requestsPerSecondMax: 0.00001 });
  expect((await api.send("GET", "/transformations")).status).toBe(200);
  // Another token of the workspace has no rate of its own.
  const token = await api.tokenWith(["workspace:admin"]);
  const { status, headers, body } = await api.send("GET", "/v2/sources", { token });
  expect(status).toBe(429);
  // A slow machine has waited for some of the 100,000 seconds.
  expect(Number(headers.get("retry-after"))).toBeWithin(90_000, 100_001);
  expect(body).toEqual({ message: body.message, error: body.message });
  expect(body.message).toContain("admin.rate");
  const { id } = await api.catalog.workspaces.create("Other");
  const other = await api.tokenWith([], id);
  expect((await api.send("GET", "/transformations", { token: other })).status).toBe(200);
  expect((await api.send("GET", "/health")).status).toBe(200);
  await api.stop();
});

test("a refused request is answered only after the delay, and other requests do not wait for it", async () => {
  const api = await startApi({ requestsPerSecondMax: 0.00001 });
  const delay = Promise.withResolvers<void>();
  const { sleep } = Bun;
  spyOn(Bun, "sleep").mockImplementation((ms) =>
    ms === REFUSAL_DELAY_MS ? delay.promise : sleep(ms),
  );
  expect((await api.send("GET", "/transformations")).status).toBe(200);
  let isAnswered = false;
  const refused = api.send("GET", "/transformations").finally(() => {
    isAnswered = true;
  });
  const { id } = await api.catalog.workspaces.create("Other");
  const token = await api.tokenWith([], id);
  expect((await api.send("GET", "/transformations", { token })).status).toBe(200);
  for (let i = 0; i < 20; i++) await api.send("GET", "/health", { token: null });
  expect(isAnswered).toBe(false);
  delay.resolve();
  expect((await refused).status).toBe(429);
  await api.stop();
});

/**
 * A server with a route that takes large bodies. `send` sends it one, and `timeouts` are the
 * connection's idle timeouts that were set meanwhile, the last one last.
 */
function largeRoute(handle: (workspaceId: string) => void) {
  const limiters = createLimiters(0);
  const timeouts: number[] = [];
  const large = route("POST /large", {
    summary: "Takes a large body",
    needs: [],
    hasLargeBody: true,
    body: Type.Object({ padding: Type.String() }),
    status: 204,
    answer: Type.Undefined(),
    example: { body: { padding: "" }, answer: undefined },
    handle({ workspaceId }) {
      handle(workspaceId);
      return undefined;
    },
  });
  const server = { timeout: (_: Request, seconds: number) => timeouts.push(seconds) };
  const send = (workspaceId: string) => {
    const principal = { workspaceId, tokenId: "t", permissions: new Set() };
    const request = new Request("http://127.0.0.1/large", {
      method: "POST",
      headers: { Authorization: "Bearer t" },
      body: JSON.stringify({ padding: "x".repeat(SMALL_BODY_BYTES_MAX) }),
    });
    const deps: RouteDeps = Object.assign(Object.create(null), {
      hosts: [],
      clientOf: () => "",
      tlsListener: { peerOf: () => undefined },
      logger: { info() {} },
      starting: () => undefined,
      limiters,
      catalog: { current: async () => {}, tokens: { authenticate: () => principal } },
    });
    const listener = { deps, closing: request.signal, lateness: new LoopLateness() };
    return handleRequest(large, listener, { request, server: server as never });
  };
  return { send, limiters, timeouts };
}

test("large bodies are parsed in different iterations of the event loop, those of two workspaces in turn", async () => {
  const handled: { workspaceId: string; iteration: number }[] = [];
  let iteration = 0;
  let isDone = false;
  const count = () => {
    iteration += 1;
    if (!isDone) setImmediate(count);
  };
  count();
  const { send } = largeRoute((workspaceId) => handled.push({ workspaceId, iteration }));
  await Promise.all(["a", "a", "a", "a", "b"].map(send));
  isDone = true;
  expect(new Set(handled.map((one) => one.iteration)).size).toBe(5);
  expect(handled.map(({ workspaceId }) => workspaceId)).toEqual(["a", "a", "b", "a", "a"]);
});

test("a client whose long body waits for its turn keeps its connection", async () => {
  const { send, limiters, timeouts } = largeRoute(() => {});
  const signal = new AbortController().signal;
  const held = await Promise.all(
    Array.from({ length: LONG_BODIES_MAX / 2 }, () => limiters.admitLongBody("a", signal)),
  );
  const waiting = spyOn(limiters, "admitLongBody");
  const answer = send("a");
  await until(() => waiting.mock.calls.length > 0, "the body to wait");
  expect(timeouts.at(-1)).toBe(0);
  for (const permit of held) permit.release();
  expect((await answer).status).toBe(204);
  expect(timeouts.at(-1)).toBe(IDLE_CONNECTION_SECONDS_MAX);
});

test("a burst of the clients of RudderStack is within the default rate, and a large body counts more", async () => {
  const burst = configSchema.properties["admin.rate"].default * API_BURST_SECONDS;
  expect(burst).toBeGreaterThanOrEqual(1_000);
  const api = await startApi({ requestsPerSecondMax: 0.001 });
  const body = {
    name: "T",
    language: "javascript",
    padding: "x".repeat(BODY_BYTES_PER_REQUEST * 9),
  };
  expect((await api.send("POST", "/transformations", { body })).status).toBe(200);
  const { status, headers } = await api.send("GET", "/transformations");
  expect(status).toBe(429);
  // The 1,000 seconds of each of ten requests, less those that the first one took.
  expect(Number(headers.get("retry-after"))).toBeWithin(9_001, 10_001);
  await api.stop();
});

test("a body of a route without code or events is small", async () => {
  const api = await startApi();
  const body = { name: "x".repeat(SMALL_BODY_BYTES_MAX) };
  for (const route of routes) {
    if (!route.body || route.needs === "open" || route.path.includes("{")) continue;
    const { status } = await api.send(route.method, route.path, { body });
    expect([route.key, status === 413]).toEqual([route.key, !route.hasLargeBody]);
  }
  expect(
    routes
      .filter(({ hasLargeBody }) => hasLargeBody)
      .map(({ key }) => key)
      .sort(),
  ).toEqual([
    "POST /libraries",
    "POST /libraries/publish",
    "POST /libraries/{id}",
    "POST /transformations",
    "POST /transformations/libraries/test",
    "POST /transformations/publish",
    "POST /transformations/tests/run",
    "POST /transformations/{id}",
    "POST /v2/run",
    "POST /v2/transformations/{id}/test-cases",
    "PUT /v2/transformations/{id}/test-cases/{caseId}",
  ]);
  await api.stop();
});
