import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { Registry } from "prom-client";
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

test("changed limits hold for the pixels and the connections that come next", async () => {
  const metrics = new Registry();
  const server = openListener({ eventsPerSecondMax: 0.00001, metrics });
  const evicted = async () => {
    const { values } = await metrics
      .getSingleMetric("pixelmill_pixel_connections_ended_total")!
      .get();
    return values.map(({ labels }) => labels.reason);
  };
  const idle = connect({ port: server.port, host: "127.0.0.1" });
  await once(idle, "connect");
  const pixel = async () => (await send(server.port, get(TARGET))).status;
  expect([await pixel(), await pixel(), await evicted()]).toEqual([200, 429, []]);
  server.configure({ eventsPerSecondMax: 0, connectionsPerNetworkMax: 1, tls: undefined });
  expect([await pixel(), await pixel(), await evicted()]).toEqual([200, 200, ["network"]]);
  idle.destroy();
  await server.stop();
});
