import { expect, test } from "bun:test";
import {
  API_BURST_SECONDS,
  BODY_BYTES_PER_REQUEST,
  SMALL_BODY_BYTES_MAX,
} from "../../../src/api/limits.ts";
import { routes } from "../../../src/api/route-table.ts";
import { configSchema } from "../../../src/settings/schema.ts";
import { startApi } from "../_setup.ts";

test("a request above the workspace's rate is 429 with Retry-After, and open routes have no rate", async () => {
  const api = await startApi({ requestsPerSecondMax: 0.01 });
  expect((await api.send("GET", "/transformations")).status).toBe(200);
  // Another token of the workspace has no rate of its own.
  const token = await api.tokenWith(["workspace:admin"]);
  const { status, headers, body } = await api.send("GET", "/v2/sources", { token });
  expect([status, headers.get("retry-after")]).toEqual([429, "100"]);
  expect(body).toEqual({ message: body.message, error: body.message });
  expect(body.message).toContain("admin.rate");
  const { id } = await api.catalog.workspaces.create("Other");
  const other = await api.tokenWith([], id);
  expect((await api.send("GET", "/transformations", { token: other })).status).toBe(200);
  expect((await api.send("GET", "/health")).status).toBe(200);
  await api.stop();
});

test("a burst of the clients of RudderStack is within the default rate, and a large body counts more", async () => {
  const burst = configSchema.properties["admin.rate"].default * API_BURST_SECONDS;
  expect(burst).toBeGreaterThanOrEqual(1_000);
  const api = await startApi({ requestsPerSecondMax: 1 });
  const body = {
    name: "T",
    language: "javascript",
    padding: "x".repeat(BODY_BYTES_PER_REQUEST * 9),
  };
  expect((await api.send("POST", "/transformations", { body })).status).toBe(200);
  expect((await api.send("GET", "/transformations")).status).toBe(429);
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
  ]);
  await api.stop();
});
