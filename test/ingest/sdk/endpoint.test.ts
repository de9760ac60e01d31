import { afterAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { Registry } from "prom-client";
import { LogUnavailable } from "../../../src/log/event-log.ts";
import {
  SDK_BATCH_EVENTS_MAX,
  SDK_BODY_BYTES_MAX,
  SDK_EVENT_BYTES_MAX,
} from "../../../src/settings/limits.ts";
import { WRITE_KEY } from "../harness.ts";
import { basic, openSdkListener, track } from "./_sdk.ts";

const server = openSdkListener();
afterAll(() => server.stop());
const { post, taken } = server;
const SUCCESS = { success: true };

describe("an SDK endpoint", () => {
  const paths = { track: "t", page: "p", identify: "i", screen: "s", group: "g", alias: "a" };

  test.each(Object.entries(paths))(
    "stores a single %s, whatever type the event states",
    async (type, short) => {
      for (const path of [`/v1/${type}`, `/v1/${type}/`, `/v1/${short}`, `/v1/${short}/`]) {
        const sent = { ...track("1"), type: "other" };
        expect(await post(path, sent)).toMatchObject({ status: 200, body: SUCCESS });
        expect(taken()).toEqual([{ type, event: sent, refused: undefined }]);
      }
    },
  );

  test.each(["/v1/batch", "/v1/b", "/v1/import", "/beacon/v1/batch"])(
    "stores the events of a batch in their order: %s",
    async (path) => {
      const batch = [track("1"), { ...track("2"), type: "identify" }, track("3")];
      for (const slash of ["", "/"]) {
        expect(await post(path + slash, { batch })).toMatchObject({ status: 200, body: SUCCESS });
        const stored = taken();
        expect(stored.map(({ event }) => event)).toEqual(batch);
        expect(stored.map(({ type }) => type)).toEqual(["track", "identify", "track"]);
      }
    },
  );

  test("records time, address, source and the batch's sentAt of events without their own", async () => {
    const before = Date.now();
    const own = { ...track("2"), sentAt: "2026-01-02T00:00:00Z" };
    await post("/v1/batch", { sentAt: "2026-01-01T00:00:00.5Z", batch: [track("1"), own] });
    const [first, second] = server.records.splice(0);
    expect(first).toMatchObject({
      clientAddress: "127.0.0.1",
      sourceId: `source-of-${WRITE_KEY}`,
      sentAt: Date.parse("2026-01-01T00:00:00.5Z"),
      messageId: undefined,
    });
    expect(first!.receivedAt).toBeGreaterThanOrEqual(before);
    expect(second!.sentAt).toBe(undefined);
  });

  test("makes a messageId for an event that has none", async () => {
    const { messageId: _, ...without } = track("");
    await post("/v1/batch", { batch: [without, { ...without, messageId: " " }, track("own")] });
    const ids = server.records.splice(0).map(({ messageId }) => messageId);
    expect(ids[0]).toHaveLength(16);
    expect(ids[1]).toHaveLength(16);
    expect(ids[0]).not.toEqual(ids[1]!);
    expect(ids[2]).toBe(undefined);
  });

  test("gives the batch's context and integrations to the events that lack them", async () => {
    const inherited = { context: { library: { name: "go" } }, integrations: { All: false } };
    const bare = { type: "track", event: "e", userId: "u", messageId: "1" };
    const batch = [
      bare,
      { ...bare, context: null, integrations: {} },
      { ...bare, context: { a: 1 } },
    ];
    await post("/v1/batch", { ...inherited, batch });
    expect(taken().map(({ event }) => event)).toEqual([
      { ...bare, ...inherited },
      { ...bare, ...inherited, integrations: {} },
      { ...bare, ...inherited, context: { a: 1 } },
    ]);
  });
});

describe("a bad event", () => {
  test("is kept as refused with the reason, and the others of its batch are taken", async () => {
    const withoutId = { type: "track", event: "Bought", messageId: "2" };
    const large = track("4", { properties: { text: "x".repeat(SDK_EVENT_BYTES_MAX) } });
    const deep = JSON.parse("[".repeat(100) + "]".repeat(100));
    const batch = [
      track("1"),
      withoutId,
      { ...track("3"), type: "dance" },
      large,
      5,
      track("6"),
      deep,
    ];
    expect(await post("/v1/batch", { batch })).toMatchObject({ status: 200, body: SUCCESS });
    const stored = taken();
    expect(stored.map(({ refused }) => refused === undefined)).toEqual([
      ...[true, false, false, false, false, true, false],
    ]);
    // The type of one that names none that exists is a guess.
    expect(new Set(stored.map(({ type }) => type))).toEqual(new Set(["track"]));
    expect(stored[1]).toMatchObject({
      event: withoutId,
      refused: expect.stringMatching(/neither has anonymousId nor userId/),
    });
    expect(String(stored[3]!.event)).toStartWith('{"type":"track"');
    expect(String(stored[3]!.event)).toHaveLength(4_096);
    // Its readers could not parse a value with any number of levels.
    expect(stored[6]!.event as unknown).toBe(JSON.stringify(deep));
  });

  test("alone in its request is kept too, and the answer is 200", async () => {
    expect(await post("/v1/track", { event: "e" })).toMatchObject({ status: 200, body: SUCCESS });
    expect(taken()).toMatchObject([{ refused: expect.any(String), event: { event: "e" } }]);
  });
});

describe("a write key", () => {
  const sent = track("1");
  test.each([
    [
      "as Basic user with a password",
      "/v1/track",
      sent,
      { authorization: basic(WRITE_KEY, "x:y") },
    ],
    [
      "with the scheme in any case",
      "/v1/track",
      sent,
      { authorization: basic(WRITE_KEY).replace("B", "b") },
    ],
    ["in the query of a beacon", `/beacon/v1/batch?writeKey=${WRITE_KEY}`, { batch: [sent] }, {}],
    ["in the body of an event", "/v1/t", { ...sent, writeKey: WRITE_KEY }, {}],
    ["in the body of a batch", "/v1/batch", { batch: [sent], writeKey: WRITE_KEY }, {}],
    [
      "in the body when the header has none",
      "/v1/batch",
      { batch: [sent], writeKey: WRITE_KEY },
      { authorization: basic("") },
    ],
    [
      "in the query when the header has another",
      `/beacon/v1/batch?writeKey=${WRITE_KEY}`,
      { batch: [sent] },
      { authorization: basic("other") },
    ],
  ] as const)("is found %s", async (_, path, body, headers) => {
    expect(await post(path, body, headers)).toMatchObject({ status: 200 });
    expect(taken()).toHaveLength(1);
  });

  test.each([
    [
      "unknown in the header",
      "/v1/batch",
      { batch: [sent], writeKey: WRITE_KEY },
      { authorization: basic("no") },
      "Invalid write key",
    ],
    [
      "unknown in the body",
      "/v1/batch",
      { batch: [sent], writeKey: "no" },
      {},
      "Invalid write key",
    ],
    [
      "absent",
      "/v1/batch",
      { batch: [sent] },
      {},
      "Failed to read writeKey from header, query or body",
    ],
    [
      "only in the query, and no beacon",
      `/v1/batch?writeKey=${WRITE_KEY}`,
      { batch: [sent] },
      {},
      "Failed to read writeKey from header, query or body",
    ],
    [
      "a number",
      "/v1/batch",
      { batch: [sent], writeKey: 1 },
      {},
      "Failed to read writeKey from header, query or body",
    ],
    [
      "in a header of another scheme",
      "/v1/batch",
      { batch: [sent] },
      { authorization: `Bearer ${WRITE_KEY}` },
      "Failed to read writeKey from header, query or body",
    ],
  ] as const)("that is %s is answered with 401", async (_, path, body, headers, message) => {
    expect(await post(path, body, headers)).toMatchObject({
      status: 401,
      body: { message, code: 401 },
    });
    expect(taken()).toEqual([]);
  });

  test("of a disabled source is answered with 503, after which SDKs keep their events", async () => {
    const answer = await post("/v1/batch", { batch: [sent] }, { authorization: basic("disabled") });
    expect(answer).toMatchObject({ status: 503, body: { message: "Source is disabled" } });
    expect(answer.headers.get("retry-after")).toBe("300");
    expect(taken()).toEqual([]);
  });
});

describe("a body", () => {
  const batch = { batch: [track("1", { properties: { text: "é".repeat(1_000) } })] };
  const json = Buffer.from(JSON.stringify(batch));
  const coded = (coding: string) => ({
    authorization: basic(WRITE_KEY),
    "content-encoding": coding,
  });

  test.each([
    ["gzip", gzipSync(json)],
    ["GZIP", gzipSync(json)],
    ["x-gzip", gzipSync(json)],
    ["gzip", Buffer.concat([gzipSync(json.subarray(0, 99)), gzipSync(json.subarray(99))])],
    ["identity", json],
    ["", json],
  ])("is decoded by its Content-Encoding %j", async (coding, body) => {
    expect(await post("/v1/batch", body, coded(coding))).toMatchObject({ status: 200 });
    expect(taken().map(({ event }) => event)).toEqual(batch.batch);
  });

  test("is not judged by its Content-Type", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "image/png", "x"]) {
      const headers = { ...coded("gzip"), "content-type": type };
      expect(await post("/v1/batch", gzipSync(json), headers)).toMatchObject({ status: 200 });
    }
    expect(taken()).toHaveLength(4);
  });

  const noGzip = "Expected a body that is complete gzip data";
  test.each([
    ["another coding", "br", json, 415, "Expected the Content-Encoding gzip or none"],
    [
      "two codings",
      "gzip, gzip",
      gzipSync(gzipSync(json)),
      415,
      "Expected the Content-Encoding gzip or none",
    ],
    ["no gzip", "gzip", json, 400, noGzip],
    ["half a gzip", "gzip", gzipSync(json).subarray(0, 40), 400, noGzip],
    ["bytes after a gzip", "gzip", Buffer.concat([gzipSync(json), json]), 400, noGzip],
    ["a gzip with a wrong checksum", "gzip", damaged(gzipSync(json)), 400, noGzip],
    ["nothing in a gzip", "gzip", gzipSync(""), 400, "Expected a body that is valid JSON"],
    ["nothing", "", "", 400, "Expected a body that is valid JSON"],
    ["half a JSON", "", json.subarray(0, -2), 400, "Expected a body that is valid JSON"],
    ["two JSON texts", "", Buffer.concat([json, json]), 400, "Expected a body that is valid JSON"],
    ["no batch", "", "{}", 400, 'Expected a JSON object with an array "batch" of events'],
  ] as const)("with %s is refused", async (_, coding, body, status, message) => {
    expect(await post("/v1/batch", body, coded(coding))).toMatchObject({
      status,
      body: { message },
    });
    expect(taken()).toEqual([]);
  });

  test("in another coding is refused with the coding that is accepted", async () => {
    const { status, headers } = await post("/v1/batch", json, coded("br"));
    expect([status, headers.get("accept-encoding")]).toEqual([415, "gzip"]);
  });

  test("with an empty batch is answered with 200, because an SDK would repeat it after 400", async () => {
    expect(await post("/v1/batch", { batch: [] })).toMatchObject({ status: 200, body: SUCCESS });
    expect(taken()).toEqual([]);
  });

  test.each([0, 1, 2 ** 32 - 1])(
    "may state %d as its size in gzip, which is not believed",
    async (size) => {
      const gzip = gzipSync(json);
      gzip.writeUInt32LE(size, gzip.length - 4);
      expect(await post("/v1/batch", gzip, coded("gzip"))).toMatchObject({ status: 400 });
      expect(taken()).toEqual([]);
    },
  );

  test("may be as large as the limit, as sent and decompressed, and no larger", async () => {
    const space = (bytes: number) => Buffer.concat([json, Buffer.alloc(bytes - json.length, " ")]);
    const most = space(SDK_BODY_BYTES_MAX);
    const more = space(SDK_BODY_BYTES_MAX + 1);
    expect((await post("/v1/batch", most)).status).toBe(200);
    expect((await post("/v1/batch", gzipSync(most), coded("gzip"))).status).toBe(200);
    expect(taken()).toHaveLength(2);
    expect((await post("/v1/batch", more)).status).toBe(413);
    expect(await post("/v1/batch", gzipSync(more), coded("gzip"))).toMatchObject({
      status: 413,
      body: { message: "Expected a body of at most 5242880 bytes after decompression" },
    });
    const many = `{"batch":[${"0,".repeat(SDK_BATCH_EVENTS_MAX)}0]}`;
    expect((await post("/v1/batch", many)).status).toBe(413);
    expect(taken()).toEqual([]);
  });
});

function damaged(gzip: Buffer): Buffer {
  gzip[gzip.length - 5]! ^= 1;
  return gzip;
}

describe("a browser", () => {
  const headers = { authorization: basic(WRITE_KEY), origin: "https://shop.example" };

  test("may read every response, with cookies, and when to try again", async () => {
    for (const [status, path, body] of [
      [200, "/v1/track", track("1")],
      [400, "/v1/batch", {}],
    ] as const) {
      const answer = await post(path, body, headers);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("access-control-allow-origin")).toBe(headers.origin);
      expect(answer.headers.get("access-control-allow-credentials")).toBe("true");
      expect(answer.headers.get("access-control-expose-headers")).toBe("Retry-After");
      expect(answer.headers.get("vary")).toBe("Origin");
    }
    taken();
  });

  test("gets a preflight answered on every path of SDKs, without a look-up of the write key", async () => {
    const blind = openSdkListener({
      source() {
        throw new Error("Expected no look-up");
      },
    });
    const paths = ["/v1/track", "/v1/batch/", "/beacon/v1/batch", "/rsaMetrics", "/sourceConfig/"];
    for (const path of [...paths, "/v1/projects/key/settings"]) {
      const answer = await fetch(blind.url + path, {
        method: "OPTIONS",
        headers: {
          origin: "https://shop.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,anonymousid,sentat",
        },
      });
      expect(answer.status).toBe(204);
      expect(Object.fromEntries(answer.headers)).toMatchObject({
        "access-control-allow-origin": "https://shop.example",
        "access-control-allow-credentials": "true",
        "access-control-allow-headers": "authorization,content-type,anonymousid,sentat",
        "access-control-allow-methods": expect.stringMatching(/POST|GET/),
        "access-control-max-age": "900",
      });
    }
    await blind.stop();
  });
});

describe("other requests of SDKs", () => {
  test("with a wrong method are answered with 405", async () => {
    for (const [path, method] of [
      ["/v1/batch", "GET"],
      ["/v1/track", "PUT"],
    ] as const) {
      const answer = await fetch(server.url + path, { method });
      expect({ path, status: answer.status }).toEqual({ path, status: 405 });
      expect(await answer.json()).toEqual({ message: "Expected the method POST", code: 405 });
      expect(answer.headers.get("allow")).toBe("POST, OPTIONS");
    }
  });

  test("with figures of the SDK itself are answered and not stored", async () => {
    const origin = "https://www.shop.example";
    for (const path of ["/v1/m", "/v1/m/", "/rsaMetrics", "/rsaMetrics/"]) {
      const { status, body, headers } = await post(path, "anything", { origin });
      expect({ status, body }).toEqual({ status: 200, body: SUCCESS });
      expect(headers.get("access-control-allow-origin")).toBe(origin);
    }
    expect(taken()).toEqual([]);
  });
});

describe("the rate of a source", () => {
  test("counts every event of a batch, and is answered with 429 and Retry-After", async () => {
    const limited = openSdkListener({ eventsPerSecondMax: 1 });
    const batch = Array.from({ length: 50 }, (_, index) => track(String(index)));
    expect((await limited.post("/v1/batch", { batch })).status).toBe(200);
    const answer = await limited.post("/v1/batch", { batch });
    expect(answer).toMatchObject({
      status: 429,
      body: { message: "Expected fewer events of this write key, got more than its rate allows" },
    });
    const seconds = Number(answer.headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(30);
    expect(seconds).toBeLessThan(50);
    expect(limited.taken()).toHaveLength(50);
    const pixel = `${limited.url}/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;
    expect((await fetch(pixel)).status).toBe(429);
    await limited.stop();
  });
});

describe("events that the log does not take", () => {
  test("leave the rate of their source as it was", async () => {
    let isFull = true;
    const store = () => (isFull ? Promise.reject(new LogUnavailable("full")) : Promise.resolve());
    const log = { append: store, appendAll: store };
    const server = openSdkListener({ log: log as never, eventsPerSecondMax: 0.001 });
    const pixel = `${server.url}/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;
    const batch = [...Array.from({ length: 50 }, (_, index) => track(String(index))), {}];
    const statuses = async () => [
      (await server.post("/v1/batch", { batch })).status,
      (await fetch(pixel)).status,
    ];
    for (let attempt = 0; attempt < 3; attempt++) expect(await statuses()).toEqual([503, 503]);
    isFull = false;
    expect(await statuses()).toEqual([200, 429]);
    await server.stop();
  });

  test("are answered with 503 and Retry-After", async () => {
    const metrics = new Registry();
    const outcomes = { stored: 0, refused: 0 };
    const received = new Map<string, number>();
    let requests = 0;
    const log = {
      appendAll: () =>
        ++requests === 1 ? Promise.reject(new LogUnavailable("full")) : Promise.resolve(),
    };
    const full = openSdkListener({ log: log as never, metrics, outcomes, received });
    const batch = [track("1"), track("2"), track("3")];
    const answer = await full.post("/v1/batch", { batch });
    expect(answer).toMatchObject({
      status: 503,
      body: { message: "The events could not be stored, try again later" },
    });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(outcomes).toEqual({ stored: 0, refused: 3 });
    expect((await full.post("/v1/batch", { batch: [...batch, {}] })).status).toBe(200);
    expect(outcomes).toEqual({ stored: 3, refused: 3 });
    expect([...received]).toEqual([[`source-of-${WRITE_KEY}`, 3]]);
    const authorization = basic("disabled");
    expect((await full.post("/v1/batch", { batch }, { authorization })).status).toBe(503);
    const text = await metrics.metrics();
    expect(text).toContain('pixelmill_sdk_requests_total{reason="disabled",status="503"} 1');
    expect(text).toContain('pixelmill_sdk_requests_total{status="200"} 1');
    expect(text).toContain('pixelmill_sdk_requests_total{status="503"} 1');
    expect(text).toContain('pixelmill_sdk_events_total{outcome="stored"} 3');
    expect(text).toContain('pixelmill_sdk_events_total{outcome="refused"} 1');
    await full.stop();
  });
});
