import { afterAll, beforeAll, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "../../e2e/server.ts";
import { referenceRudderId } from "../../event/sdk-reference.ts";
import { basic } from "./_sdk.ts";

/** Events of SDKs on their way through a real server, from a request to a webhook. */

let server: Server;
let writeKey: string;
let sourceId: string;
const sink = startSink();
beforeAll(async () => {
  server = await startServer();
  ({ writeKey, sourceId } = await route(server, { url: sink.url }));
}, 300_000);
afterAll(async () => {
  await server.stop();
  sink.stop();
  removeDirectory(server.directory);
});

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const json = JSON.stringify(body);
  const isGzip = headers["content-encoding"] === "gzip";
  const answer = await fetch(server.dataPlane + path, {
    method: "POST",
    headers: { authorization: basic(writeKey), ...headers },
    body: isGzip ? gzipSync(json) : json,
  });
  return { status: answer.status, body: await answer.json() };
}
const success = { status: 200, body: { success: true } };

/** Waits for the next events at the webhook. */
async function delivered(count: number): Promise<any[]> {
  await waitFor(() => sink.events.length >= count);
  return sink.events.splice(0).sort((a, b) => (a.messageId < b.messageId ? -1 : 1));
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

test("a track event comes to the webhook with what the server adds, and without its write key", async () => {
  const sent = { event: "Bought", userId: 7, properties: { price: 1.5 }, writeKey };
  expect(await post("/v1/track", sent)).toEqual(success);
  const [event] = await delivered(1);
  const { writeKey: _, ...own } = sent;
  expect(event).toMatchObject({ ...own, type: "track", integrations: { All: true } });
  expect(event).not.toHaveProperty("writeKey");
  expect(event.messageId).toMatch(/^[0-9a-f-]{36}$/);
  expect(event.request_ip).toBe("127.0.0.1");
  expect(event.context.ip).toBe("127.0.0.1");
  for (const time of ["receivedAt", "timestamp", "originalTimestamp", "sentAt"]) {
    expect(event[time]).toMatch(ISO);
  }
});

test("events of a gzip batch of every type come to the webhook, beside a pixel of the same user", async () => {
  const types = ["track", "page", "identify", "screen", "group", "alias"];
  const batch = types.map((type, index) => ({
    ...{ type, messageId: `m${index}`, anonymousId: "anna", event: "e", traits: { n: index } },
    ...(index === 0 && { context: { library: { name: "own" } } }),
  }));
  const context = { library: { name: "of the batch" } };
  const headers = { "content-encoding": "gzip", "content-type": "text/plain" };
  expect(await post("/v1/batch", { batch, context, sentAt: new Date() }, headers)).toEqual(success);
  await pixel(server, "page", { writeKey, anonymousId: "anna", name: "Home" });
  const events = await delivered(types.length + 1);
  const fromBatch = events.filter(({ messageId }) => messageId.length === 2);
  expect(fromBatch.map(({ type }) => type)).toEqual(types);
  expect(fromBatch.map((event) => event.context.library.name)).toEqual([
    "own",
    ...types.slice(1).map(() => "of the batch"),
  ]);
  const id = referenceRudderId({ anonymousId: "anna" });
  expect(fromBatch.map((event) => event.rudderId)).toEqual(types.map(() => id));
});

test("a bad event of a batch is found with its reason, and the others are delivered", async () => {
  const good = { type: "track", event: "Good", anonymousId: "a" };
  const batch = [
    { ...good, messageId: "g1" },
    { type: "track", event: "Bad" },
  ];
  expect(await post("/v1/import/", { batch: [...batch, { ...good, messageId: "g2" }] })).toEqual(
    success,
  );
  expect((await delivered(2)).map(({ messageId }) => messageId)).toEqual(["g1", "g2"]);
  const found = await server.api("GET", `/v2/events/search?refused=true&sourceId=${sourceId}`);
  expect(found.status).toBe(200);
  expect(found.body.events).toHaveLength(1);
  expect(found.body.events[0]).toMatchObject({
    refused: "Request neither has anonymousId nor userId",
  });
});

test("hostile events neither stop those after them nor the search for refused ones", async () => {
  const hostile = [
    `{"type":"track","messageId":"h1","userId":"u","event":"e","n":${"9".repeat(100_000)}}`,
    '{"type":"track","messageId":"h2","userId":"\\ud800","event":"\\udfff"}',
    '{"type":"track","messageId":"h3","userId":"u","event":"e","__proto__":{"a":1},"constructor":2}',
    `{"type":"track","userId":"u","event":"deep","a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`,
    `{"type":"track","userId":"u","event":"large","a":"${"x".repeat(300_000)}"}`,
    "[".repeat(50) + "]".repeat(50),
    "null",
  ];
  const last = '{"type":"track","messageId":"h4","userId":"u","event":"e"}';
  const answer = await fetch(`${server.dataPlane}/v1/batch`, {
    method: "POST",
    headers: { authorization: basic(writeKey) },
    body: `{"batch":[${[...hostile, last]}]}`,
  });
  expect(answer.status).toBe(200);
  const events = await delivered(4);
  expect(events.map(({ messageId }) => messageId)).toEqual(["h1", "h2", "h3", "h4"]);
  expect(Object.keys(events[2])).toContain("__proto__");
  const found = await server.api("GET", `/v2/events/search?refused=true&sourceId=${sourceId}`);
  expect(found.status).toBe(200);
  const reasons = found.body.events.map(({ refused }: { refused: string }) => refused);
  expect(reasons.toSorted()).toEqual([
    "Expected an event of at most 262144 bytes, with the context of its batch",
    "Expected an event with at most 64 levels",
    "Expected the event to be a JSON object",
    "Expected the event to be a JSON object",
    "Request neither has anonymousId nor userId",
  ]);
});

test("an SDK gets its configuration from the address that it sends events to", async () => {
  const answer = await fetch(`${server.dataPlane}/sourceConfig/?writeKey=${writeKey}`);
  expect(await answer.json()).toMatchObject({ source: { id: sourceId, enabled: true } });
});
