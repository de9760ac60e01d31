import { expect, test } from "bun:test";
import { get, openListener, send, WRITE_KEY } from "./harness.ts";

const TARGET = `/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;

test("a pixel above the rate is answered with 429 and Retry-After", async () => {
  const server = openListener({ eventsPerSecondMax: 0.00001 });
  expect((await send(server.port, get(TARGET))).status).toBe(200);
  const answer = await send(server.port, get(TARGET));
  expect(answer.status).toBe(429);
  // The 100,000 seconds of one pixel, less those between both pixels on a slow machine.
  expect(Number(/Retry-After: (\d+)/.exec(answer.head)?.[1])).toBeWithin(90_000, 100_001);
  expect(JSON.parse(answer.body)).toEqual({
    message: "Expected fewer pixels of this write key, got more than its rate allows",
    code: 429,
  });
  expect(server.records.length).toBe(1);
  // A refused request takes nothing from the allowance, whoever sends it.
  expect((await send(server.port, get("/pixel/v1/page"))).status).toBe(400);
  await server.stop();
});
