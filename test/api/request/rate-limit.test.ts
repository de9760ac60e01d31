import { expect, test } from "bun:test";
import { startApi } from "../_setup.ts";

test("a request above the rate is 429 with Retry-After, and open routes have no rate", async () => {
  const api = await startApi({ requestsPerSecondMax: 0.01 });
  expect((await api.send("GET", "/transformations")).status).toBe(200);
  const { status, headers, body } = await api.send("GET", "/v2/sources");
  expect([status, headers.get("retry-after")]).toEqual([429, "100"]);
  expect(body).toEqual({ message: body.message, error: body.message });
  const token = await api.tokenWith([]);
  expect((await api.send("GET", "/transformations", { token })).status).toBe(200);
  expect((await api.send("GET", "/health")).status).toBe(200);
  await api.stop();
});
