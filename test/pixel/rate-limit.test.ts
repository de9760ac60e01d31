import { describe, expect, test } from "bun:test";
import { createRateLimit } from "../../src/pixel/rate-limit.ts";
import { get, openListener, send, WRITE_KEY } from "./harness.ts";

describe("a rate limit", () => {
  test("lets two seconds' worth through at once, then the rate", () => {
    let now = 0;
    const take = createRateLimit(5, () => now);
    expect(Array.from({ length: 11 }, () => take("a"))).toEqual([...Array(10).fill(0), 1]);
    now += 200;
    expect([take("a"), take("a")]).toEqual([0, 1]);
    now += 3_600_000;
    expect(Array.from({ length: 11 }, () => take("a"))).toEqual([...Array(10).fill(0), 1]);
  });

  test("is kept for each source", () => {
    const take = createRateLimit(1, () => 0);
    expect([take("a"), take("a"), take("a"), take("b")]).toEqual([0, 0, 1, 0]);
  });

  test("below one pixel a second tells how long to wait", () => {
    let now = 0;
    const take = createRateLimit(0.1, () => now);
    expect([take("a"), take("a")]).toEqual([0, 10]);
    now += 4_000;
    expect(take("a")).toBe(6);
    now += 6_000;
    expect(take("a")).toBe(0);
  });

  test("of 0 is none", () => {
    const take = createRateLimit(0, () => 0);
    expect(Array.from({ length: 1_000 }, () => take("a")).every((wait) => wait === 0)).toBe(true);
  });
});

const TARGET = `/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;

test("a pixel above the rate is answered with 429 and Retry-After", async () => {
  const server = openListener({ pixelsPerSecondMax: 0.01 });
  expect((await send(server.port, get(TARGET))).status).toBe(200);
  const answer = await send(server.port, get(TARGET));
  expect(answer.status).toBe(429);
  expect(answer.head).toContain("Retry-After: 100");
  expect(JSON.parse(answer.body)).toEqual({
    message: "Expected fewer pixels of this write key, got more than its rate allows",
  });
  expect(server.records.length).toBe(1);
  // A refused request takes nothing from the allowance, whoever sends it.
  expect((await send(server.port, get("/pixel/v1/page"))).status).toBe(400);
  await server.stop();
});
