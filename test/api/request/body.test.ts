import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { connect } from "node:net";
import fc from "fast-check";
import { createLimiters, TooManyRequests } from "../../../src/api/limiters.ts";
import {
  BODY_BYTES_PER_REQUEST,
  JSON_KEYS_MAX,
  JSON_PARTS_MAX,
  LONG_BODIES_MAX,
} from "../../../src/api/limits.ts";
import { readBody } from "../../../src/api/request/body.ts";
import { jsonShape } from "../../../src/api/request/json-shape.ts";
import { toErrorResponse } from "../../../src/api/response/errors.ts";
import type { Permit } from "../../../src/concurrency/permit.ts";
import { ApiError } from "../../../src/errors.ts";
import { SandboxUnavailable } from "../../../src/sandbox/sandbox.ts";
import { logger } from "../../catalog/_setup.ts";
import { until } from "../../pipeline/rig.ts";
import { holds } from "../../until.ts";
import { startApi, type TestApi } from "../_setup.ts";

/** Common behaviour of all routes: paths, bodies, hosts and errors. */
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

const create = (sent: Parameters<TestApi["send"]>[2]) => api.send("POST", "/transformations", sent);

describe("an unknown path", () => {
  test.each(["/nope", "/transformations/a/b", "/%00", "/v1/x", "/transformations%2Fx"])(
    "%s is 404 with a message, with and without a token",
    async (path) => {
      for (const token of [null, undefined]) {
        const sent = token === null ? { token } : {};
        const { status, body, headers } = await api.send("GET", path, sent);
        expect([status, Object.keys(body)]).toEqual([404, ["message"]]);
        expect(headers.get("content-type")).toBe("application/json");
      }
    },
  );

  test.each([
    ["/v2/transformations", "/transformations"],
    ["/v2/libraries/x/versions", "/libraries/{id}/versions"],
    ["/tokens/x", "/v2/tokens/{id}"],
    ["/workspace", "/v2/workspace"],
  ])("%s is 404 and names %s", async (path, meant) => {
    const { status, body } = await api.send("GET", path);
    expect([status, body.message]).toEqual([404, `There is nothing at this path, but at ${meant}`]);
  });

  test("of a pixel is 404 and its message names the data plane", async () => {
    const { status, body } = await api.send("GET", "/pixel/v1/page?writeKey=a&anonymousId=a");
    const message = "There is nothing at this path: pixels go to the port of the data plane";
    expect([status, body]).toEqual([404, { message }]);
  });

  test("under /v2/ has `error` in its body as well", async () => {
    const { body } = await api.send("GET", "/v2/nope");
    expect(body).toEqual({ message: body.message, error: body.message });
  });
});

test.each([
  ["PATCH", "/transformations", "GET, POST"],
  ["PUT", "/libraries/x", "DELETE, GET, POST"],
  ["GET", "/transformations/x/connectToDestination", "POST"],
  ["DELETE", "/v2/destinations", "GET, POST"],
  ["OPTIONS", "/v2/tokens/x", "DELETE"],
  ["POST", "/health", "GET"],
  ["POST", "/", "GET"],
  ["HEAD", "/health", "GET"],
  ["HEAD", "/v2/events", "GET"],
])("%s %s is 405 and allows %s", async (method, path, allow) => {
  const { status, body, headers } = await api.send(method, path, { token: null });
  expect(status).toBe(405);
  expect(headers.get("allow")?.split(", ").sort().join(", ")).toBe(allow);
  if (method !== "HEAD") expect(body.message).toStartWith("Expected one of the methods");
});

test.each(["x", "api", "[::1]", "[", "a_b:1", "é", "a:b:c", "..", "%"])(
  "the host %p makes no difference",
  async (host) => {
    const lines = [`GET /health HTTP/1.1`, `Host: ${host}`, "Connection: close", "", ""];
    const head = await exchange(lines.join("\r\n"));
    // Bun refuses an invalid host itself.
    expect(head).toMatch(/^HTTP\/1.1 (200 OK|400 Bad Request)\r\n/);
    if (/^[a-z]+$/.test(host)) expect(head).toStartWith("HTTP/1.1 200");
  },
);

function exchange(request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
    });
    socket.on("error", reject);
    socket.on("close", () => resolve(received));
    socket.write(request);
  });
}

describe("a body", () => {
  test.each([
    ["text that is no JSON", "{", "Expected a body in JSON, got text that does not parse"],
    [
      "invalid UTF-8",
      new Uint8Array([0x22, 0xff, 0x22]),
      "Expected a body in UTF-8, got other bytes",
    ],
    ["too many levels", `${"[".repeat(65)}`, "Expected JSON of at most 64 levels, got more"],
    ["another JSON value", "[]", "Expected an object, got an array of 0 items"],
    ["null", "null", "Expected an object, got null"],
  ])("of %s is 400", async (_, body, message) => {
    const answer = await create({ body });
    expect([answer.status, answer.body.message]).toEqual([400, message]);
  });

  test.each([
    ["9007199254740993", 400],
    ["-12345678901234567891", 400],
    ["9007199254740992", 201],
    ["12345678901234567000", 201],
    ["1e300", 201],
    ['"9007199254740993"', 201],
  ])("with the number %s is answered %i, as it would be rounded or not", async (n, status) => {
    const body = `{"name":"Number","config":{"list":[${n}]}}`;
    const answer = await api.send("POST", "/v2/sources", { body });
    expect(answer.status).toBe(status);
    const refusal = "Expected integers beyond 2^53 as strings";
    if (status === 400) expect(answer.body.message).toStartWith(refusal);
    else expect(answer.body.source.config).toEqual({ list: [JSON.parse(n)] });
  });

  test("may nest as deep as the limit, brackets in strings not counted", async () => {
    const events = [JSON.parse(`${`{"a":`.repeat(62)}"${"[".repeat(100)}"${"}".repeat(62)}`)];
    const { status } = await create({ body: { name: "Deep", language: "javascript", events } });
    expect(status).toBe(200);
  });

  test.each([
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "text/json",
    "nonsense",
  ])("of type %s is 400", async (type) => {
    const answer = await create({ body: "{}", headers: { "Content-Type": type } });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      "Expected Content-Type application/json, got another type",
    ]);
  });

  test.each(["application/json; charset=utf-8", "Application/JSON", "application/vnd.x+json"])(
    "of type %s is read",
    async (type) => {
      const body = { name: "Typed", language: "javascript" };
      expect((await create({ body, headers: { "Content-Type": type } })).status).toBe(200);
    },
  );

  test("that is compressed is 400", async () => {
    const body = Bun.gzipSync(Buffer.from("{}"));
    const answer = await create({ body, headers: { "Content-Encoding": "gzip" } });
    expect([answer.status, answer.body.message]).toEqual([
      400,
      "Expected a body without Content-Encoding, got an encoded one",
    ]);
  });

  test("over 4 MiB is 413, announced or not", async () => {
    const padding = "x".repeat(1 << 22);
    const announced = await create({ body: { padding } });
    expect([announced.status, announced.body.message]).toEqual([
      413,
      "Expected a body of at most 4194304 bytes, got more",
    ]);
    let sent = 0;
    const stream = new ReadableStream({
      pull(controller) {
        sent += 1 << 16;
        controller.enqueue(new Uint8Array(1 << 16).fill(0x20));
        if (sent > 1 << 23) controller.close();
      },
    });
    const chunked = await fetch(`${api.url}/transformations`, {
      method: "POST",
      headers: { Authorization: `Bearer ${api.token}`, "Content-Type": "application/json" },
      body: stream,
    });
    expect(chunked.status).toBe(413);
    expect(await chunked.json()).toEqual({ message: announced.body.message });
    expect((await api.send("GET", "/transformations")).status).toBe(200);
  });

  test("just below 4 MiB is read", async () => {
    const small = { name: "Large", language: "javascript", padding: "" };
    const padding = "x".repeat((1 << 22) - JSON.stringify(small).length);
    expect((await create({ body: { ...small, padding } })).status).toBe(200);
  });

  test("that arrives too slowly is refused at the time limit, and one that breaks off is refused at once", async () => {
    const sending = (pull: (controller: ReadableStreamDefaultController) => Promise<void>) =>
      new Request("http://localhost", { method: "POST", body: new ReadableStream({ pull }) });
    let drips = 0;
    const dripping = sending(async (controller) => {
      await Bun.sleep(10);
      drips++;
      controller.enqueue(Buffer.from(" "));
    });
    await expect(readBody(dripping, { secondsMax: 0.2 })).rejects.toThrow(
      "Expected the whole body within 0.2 s",
    );
    const after = drips;
    await holds(100, () => expect(drips - after).toBeLessThanOrEqual(1));
    const broken = sending(async (controller) => controller.error(new Error("gone")));
    await expect(readBody(broken)).rejects.toThrow(
      "Expected a complete body, got one that ended early",
    );
  });

  test("is not read before the token is known", async () => {
    const { status } = await create({ token: null, body: "x".repeat(5 << 20) });
    expect(status).toBe(401);
  });
});

test("JSON levels, keys and parts are counted as a parser nests them", () => {
  const inside = (value: unknown) =>
    typeof value === "object" && value !== null ? Object.values(value) : [];
  const levels = (value: unknown): number =>
    typeof value === "object" && value !== null ? 1 + Math.max(0, ...inside(value).map(levels)) : 0;
  const keys = (value: unknown): number =>
    Math.max(Array.isArray(value) ? 0 : inside(value).length, 0, ...inside(value).map(keys));
  const parts = (value: unknown): number => {
    if (typeof value !== "object" || value === null) return 0;
    const keysOfOne = Array.isArray(value) ? 0 : inside(value).length;
    return inside(value).reduce((sum: number, one) => sum + parts(one), 1 + keysOfOne);
  };
  const hostile = fc.string({ unit: fc.constantFrom('"', "\\", "[", "{", "]", "}", ",", "a") });
  const value = fc.jsonValue({ depthSize: "large", stringUnit: "binary" });
  const spaces = fc.constantFrom(undefined, 2, "\t");
  fc.assert(
    fc.property(fc.oneof(value, fc.dictionary(hostile, fc.array(hostile))), spaces, (any, by) => {
      const text = JSON.stringify(any, null, by);
      const expected = { levels: levels(JSON.parse(text)), keys: keys(any), parts: parts(any) };
      expect(jsonShape(text)).toEqual(expected);
    }),
    { numRuns: 150 },
  );
}, 300_000);

test("an object with more keys than the limit is refused before it is parsed, at any level", async () => {
  const object = (count: number) =>
    `{${Array.from({ length: count }, (_, key) => `"k${key}":1`).join()}}`;
  const refused = `Expected JSON objects of at most ${JSON_KEYS_MAX} keys, got one with more`;
  for (const path of ["/transformations", "/v2/run", "/v2/tokens", "/v2/dead-letters/purge"]) {
    // A body without code may be smaller: it has room for the limit, and not for many more keys.
    const count = /^\/(transformations|v2\/run)$/.test(path) ? 355_000 : 2 * JSON_KEYS_MAX;
    for (const body of [object(count), `{"a":[${object(JSON_KEYS_MAX + 1)}]}`]) {
      const answer = await api.send("POST", path, { body });
      expect([path, answer.status, answer.body.message]).toEqual([path, 400, refused]);
    }
  }
  const events = `[${object(JSON_KEYS_MAX)}]`;
  const body = `{"name":"Wide","language":"javascript","events":${events}}`;
  expect((await create({ body })).status).toBe(200);
});

test("a body with more keys, objects and arrays than the limit is refused before it is parsed", async () => {
  const events = (count: number) => `{"events":[{"a":[${Array(count).fill("{}").join()}]}]}`;
  const statusOf = async (body: string) =>
    (await api.send("POST", "/v2/run", { body })).body.message;
  const refused = `Expected JSON of at most ${JSON_PARTS_MAX} keys, objects and arrays, got more`;
  // The keys `events` and `a`, and the four containers around the objects, count too.
  expect(await statusOf(events(JSON_PARTS_MAX - 5))).toBe(refused);
  expect(await statusOf(events(JSON_PARTS_MAX - 6))).toStartWith("Expected ");
  expect(await statusOf(events(JSON_PARTS_MAX - 6))).not.toBe(refused);
});

test("a 503 says when to try again, whatever is unavailable", () => {
  for (const error of [
    new ApiError("unavailable", "Not now"),
    new SandboxUnavailable("No guest"),
  ]) {
    const { status, headers } = toErrorResponse(error, "/v2/run", logger);
    expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
  }
});

test("a head of 200 KB gets an error of this API", async () => {
  const { status, body } = await api.send("GET", `/transformations/${"a".repeat(200_000)}`);
  expect([status, Object.keys(body)]).toEqual([404, ["message"]]);
});

test("undecodable and hostile ids are 404", async () => {
  for (const id of [
    "%zz",
    "%ff",
    "%00",
    "..%2f..",
    "__proto__",
    "a".repeat(8_000),
    "%F0%9F%92%A9",
  ]) {
    const { status, body } = await api.send("GET", `/transformations/${id}`);
    expect([id, status, Object.keys(body)]).toEqual([id, 404, ["message"]]);
  }
});

test("/health, /ready and /metrics need no token", async () => {
  const open = (path: string) => api.send("GET", path, { token: null });
  expect((await open("/health")).body).toEqual({ status: "ok", version: "0.0.0" });
  expect((await open("/ready")).body).toEqual(api.readiness);
  Object.assign(api.readiness, { ready: false, checks: { log: { ok: false, message: "Full" } } });
  const { status, body } = await open("/ready");
  expect([status, body]).toEqual([503, { message: "Not ready: log", ...api.readiness }]);
  const metrics = await open("/metrics");
  expect(metrics.headers.get("content-type")).toStartWith("text/plain");
  const count = /^pixelmill_api_request_seconds_count\{.*route="GET \/ready",status="503"\} 1$/m;
  expect(count.test(metrics.text)).toBe(true);
});

test("bodies of one workspace that are read at once are bounded, and those of another go on", async () => {
  const { admitLongBody } = createLimiters(0);
  const parts = 8;
  const part = new Uint8Array(BODY_BYTES_PER_REQUEST).fill(0x20);
  const ends: (() => void)[] = [];
  const isLongRead = (workspaceId: string) => {
    const read = { parts: 0 };
    const { promise: end, resolve } = Promise.withResolvers<void>();
    ends.push(resolve);
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          read.parts++;
          if (read.parts < parts) return controller.enqueue(part);
          await end;
          controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const request = new Request("http://host/", { method: "POST", body });
    let permit: Permit | undefined;
    const done = readBody(request, {
      admitLong: async (signal) => {
        permit = await admitLongBody(workspaceId, signal);
      },
    }).finally(() => permit?.release());
    return { read, done };
  };
  const many = Array.from({ length: 100 }, () => isLongRead("attacker"));
  const good = isLongRead("good");
  const wholly = () => many.filter(({ read }) => read.parts === parts).length;
  await until(() => wholly() > 0 && good.read.parts === parts, "bodies to be read");
  expect(wholly()).toBeLessThanOrEqual(LONG_BODIES_MAX / 2);
  for (const { read } of many) expect([2, 3, parts]).toContain(read.parts);
  for (const end of ends) end();
  const bodies = await Promise.all([...many, good].map(({ done }) => done));
  expect(bodies.map(({ length }) => length)).toEqual(
    bodies.map(() => (parts - 1) * BODY_BYTES_PER_REQUEST),
  );
});

test("a body that waits in vain to be read is answered 429, which names the bound", async () => {
  const { admitLongBody } = createLimiters(0);
  const admit = () => admitLongBody("busy", new AbortController().signal);
  await Promise.all(Array.from({ length: LONG_BODIES_MAX / 2 }, admit));
  const body = new Uint8Array(2 * BODY_BYTES_PER_REQUEST).fill(0x20);
  const read = readBody(new Request("http://host/", { method: "POST", body }), {
    secondsMax: 0.05,
    admitLong: async (signal) => void (await admitLongBody("busy", signal)),
  });
  const refusal = await read.catch((error) => error);
  expect(refusal).toBeInstanceOf(TooManyRequests);
  expect(refusal.message).toBe("Expected at most 16 bodies longer than 64 KiB at once, got more");
});

test("the client's time begins anew once its long body may be read", async () => {
  const refresh = spyOn(Object.getPrototypeOf(setTimeout(() => {})), "refresh");
  const body = new Uint8Array(2 * BODY_BYTES_PER_REQUEST).fill(0x20);
  const admitLong = async () => void refresh.mockClear();
  await readBody(new Request("http://host/", { method: "POST", body }), { admitLong });
  expect(refresh).toHaveBeenCalledTimes(1);
  refresh.mockRestore();
});

test("an unexpected error is logged and not shown", async () => {
  const broken = await startApi({
    dataPlaneUrl: () => {
      throw new Error("at /secret/path.ts:1:2");
    },
  });
  const { status, text } = await broken.send("GET", "/v2/workspace", { unchecked: true });
  expect(status).toBe(500);
  expect(text).not.toContain("secret");
  expect(broken.failures()).toHaveLength(1);
  await broken.stop();
});

test("no other request failed with an unexpected error", () => expect(api.failures()).toEqual([]));
