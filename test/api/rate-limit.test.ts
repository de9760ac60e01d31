import { expect, test } from "bun:test";
import { createRateLimiter, TooMany } from "../../src/api/rate-limit.ts";
import { RATE_TOKENS_MAX } from "../../src/limits.ts";
import { startApi } from "./_setup.ts";

const allowed = (spend: (id: string) => void, id: string): number => {
  for (let count = 0; ; count++) {
    try {
      spend(id);
    } catch (error) {
      if (error instanceof TooMany) return count;
      throw error;
    }
  }
};

test("a token has a burst of two seconds, then its rate; others are not touched", () => {
  let now = 0;
  const spend = createRateLimiter({ perSecond: 10 }, () => now);
  expect([allowed(spend, "a"), allowed(spend, "b")]).toEqual([20, 20]);
  now = 1_000;
  expect([allowed(spend, "a"), allowed(spend, "a")]).toEqual([10, 0]);
  now = 60_000;
  expect(allowed(spend, "a")).toBe(20);
});

test("it tells how long to wait, and remembers a bounded number of tokens", () => {
  const spend = createRateLimiter({ perSecond: 0.1 }, () => 0);
  spend("a");
  expect(() => spend("a")).toThrow(expect.objectContaining({ retryAfterSeconds: 10 }));
  for (let n = 0; n < RATE_TOKENS_MAX; n++) spend(`token ${n}`);
  expect(() => spend("a")).not.toThrow();
});

test("what it forgets is the token that was used longest ago", () => {
  const spend = createRateLimiter({ perSecond: 1 }, () => 0);
  spend("a");
  for (let n = 1; n < RATE_TOKENS_MAX; n++) spend(`token ${n}`);
  spend("a");
  spend("one more");
  expect(() => spend("a")).toThrow(TooMany);
});

test("over the rate a request is 429 with Retry-After; open routes are free", async () => {
  const api = await startApi({ rateLimit: { perSecond: 0.01 } });
  expect((await api.send("GET", "/transformations")).status).toBe(200);
  const { status, headers, body } = await api.send("GET", "/v2/sources");
  expect([status, headers.get("retry-after")]).toEqual([429, "100"]);
  expect(body).toEqual({ message: body.message, error: body.message });
  const token = await api.tokenWith([]);
  expect((await api.send("GET", "/transformations", { token })).status).toBe(200);
  expect((await api.send("GET", "/health")).status).toBe(200);
  await api.stop();
});
