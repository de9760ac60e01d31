import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import { Registry } from "prom-client";
import { createIngestListener } from "../../src/ingest/listener.ts";
import { LogUnavailable } from "../../src/log/event-log.ts";
import { missingPrograms, testWith } from "../counterpart.ts";
import { waitFor } from "../e2e/server.ts";
import { newKeys } from "../http/new-keys.ts";
import { listeningLogger } from "../log/support.ts";
import { get, openListener, readAll, send, WRITE_KEY } from "./harness.ts";

const PAGE = `/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;
const TRACK = `/pixel/v1/track?writeKey=${WRITE_KEY}&userId=u&event=Bought`;
const V4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

let server: ReturnType<typeof openListener>;
beforeAll(() => {
  server = openListener();
});
afterAll(() => server.stop());

const nothingHere =
  "There is nothing at this path: expected /pixel/v1/page, /pixel/v1/track, /v1/batch or another path of SDKs; the API and the console have a port of their own";

describe("a pixel", () => {
  test("is answered with the GIF once its event is in the log", async () => {
    const before = Date.now();
    const answer = await fetch(`${server.url}${PAGE}&properties.a=1`);
    expect(answer.status).toBe(200);
    expect(Buffer.from(await answer.arrayBuffer()).toString("base64")).toBe(
      "R0lGODlhAQABAIAAAAAAAAAAACH5BAEAAAAALAAAAAABAAEAAAICRAEAOw==",
    );
    expect(answer.headers.get("content-length")).toBe("43");
    expect(answer.headers.get("content-type")).toBe("image/gif");
    expect(answer.headers.get("cache-control")).toBe(
      "no-store, no-cache, must-revalidate, private",
    );
    expect(answer.headers.get("expires")).toBe("0");
    expect(answer.headers.get("access-control-allow-origin")).toBe("*");

    const record = server.records.at(-1)!;
    expect(record.sourceId).toBe(`source-of-${WRITE_KEY}`);
    expect(record.receivedAt).toBeGreaterThanOrEqual(before);
    expect(record.receivedAt).toBeLessThanOrEqual(Date.now());
    const event = server.events().at(-1)!;
    expect(event).toMatchObject({ type: "page", anonymousId: "a", properties: { a: 1 } });
    expect(event.request_ip).toBe("127.0.0.1");
    expect(event.messageId).toMatch(V4);
  });

  test("has a messageId of its own", async () => {
    const answers = await Promise.all(
      Array.from({ length: 600 }, () => fetch(`${server.url}${TRACK}`)),
    );
    expect(answers.every((answer) => answer.status === 200)).toBe(true);
    const ids = server.events().map((event) => event.messageId);
    expect(ids.every((id) => V4.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("is accepted with a short host, a port, or a fragment as text", async () => {
    for (const host of ["a", "pm", "x.y:1", "[::1]:80"]) {
      const target = `${PAGE}&host=${encodeURIComponent(host)}&u=x%23#y`;
      const answer = await send(
        server.port,
        `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      );
      expect(answer.status).toBe(200);
      expect(server.events().at(-1)).toMatchObject({ host, u: "x##y" });
    }
  });

  test("is accepted at its path with a slash at the end", async () => {
    for (const [target, type] of [
      [PAGE, "page"],
      [TRACK, "track"],
    ] as const) {
      expect((await send(server.port, get(target.replace("?", "/?")))).status).toBe(200);
      expect(server.events().at(-1)!.type).toBe(type);
    }
  });

  test("is accepted with raw UTF-8 and quotes", async () => {
    const raw = Buffer.from(`${PAGE}&x=é"<>'\\|^{}`, "utf8").toString("latin1");
    expect((await send(server.port, get(raw))).status).toBe(200);
    expect(server.events().at(-1)!.x).toBe(`é"<>'\\|^{}`);
  });
});

test("a pixel whose client was gone before its connection was accepted is stored without an address", async () => {
  const before = server.records.length;
  const request = get(`${TRACK}&properties.gone=yes`);
  const client = `
    const socket = require("node:net").connect({ port: ${server.port}, host: "127.0.0.1" });
    socket.write(${JSON.stringify(request)}, () => socket.resetAndDestroy());
  `;
  // The server accepts nothing while this thread waits for the client's process to end.
  expect(Bun.spawnSync([process.execPath, "-e", client]).exitCode).toBe(0);
  await waitFor(() => server.records.length > before, "the pixel to be stored");
  const event = server.events().at(-1)!;
  expect(event.properties).toEqual({ gone: "yes" });
  expect(event.request_ip).toBeUndefined();
});

describe("a request is refused", () => {
  for (const [what, target, status, message] of [
    ["without a query", "/pixel/v1/page", 400, "Expected the query parameter writeKey"],
    [
      "without ids",
      `/pixel/v1/page?writeKey=${WRITE_KEY}`,
      400,
      "Request neither has anonymousId nor userId",
    ],
    [
      "without event",
      TRACK.replace("event", "evt"),
      400,
      "Expected the query parameter event, which must not be blank",
    ],
    ["with an unknown write key", PAGE.replace(WRITE_KEY, "unknown"), 401, "Invalid write key"],
    ["of a disabled source", PAGE.replace(WRITE_KEY, "disabled"), 404, "Source is disabled"],
    [
      "with 17 levels",
      `${PAGE}&a${".b".repeat(16)}=`,
      400,
      "Expected at most 16 levels in a parameter name",
    ],
    [
      "with 1,001 parameters",
      `${PAGE}${"&a".repeat(999)}`,
      400,
      "Expected at most 1000 parameters",
    ],
    ["elsewhere", "/pixel/v2/page", 404, nothingHere],
    ["of the other port", "/v2/sources", 404, nothingHere],
    ["for what is no path", "/%zz?%", 404, nothingHere],
  ] as const) {
    test(what, async () => {
      const count = server.records.length;
      const answer = await send(server.port, get(target));
      expect(answer.status).toBe(status);
      expect(answer.head).toContain("Content-Type: application/json");
      expect(JSON.parse(answer.body)).toEqual({ message, code: status });
      expect(server.records.length).toBe(count);
    });
  }

  for (const method of ["HEAD", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND"]) {
    test(`with ${method}`, async () => {
      const count = server.records.length;
      const answer = await send(server.port, get(TRACK).replace("GET", method));
      expect(answer.status).toBe(405);
      expect(answer.head).toContain("Allow: GET, POST, OPTIONS");
      const body =
        method === "HEAD" ? "" : '{"message":"Expected the method GET or POST","code":405}';
      expect(answer.body).toBe(body);
      expect(server.records.length).toBe(count);
    });
  }

  test("with 503 and Retry-After while the log takes nothing", async () => {
    for (const error of [new LogUnavailable("disk full"), new Error("bug")]) {
      const reject = () => Promise.reject(error);
      const broken = openListener({ log: { append: reject, appendAll: reject } });
      const answer = await send(broken.port, get(PAGE));
      expect(answer.status).toBe(503);
      expect(answer.head).toContain("Retry-After: 1");
      expect(JSON.parse(answer.body)).toEqual({
        message: "The event could not be stored, try again later",
        code: 503,
      });
      await broken.stop();
    }
  });
});

test("a pixel that is not stored is counted as refused, and leaves its source's rate as it was", async () => {
  let isBroken = true;
  const outcomes = { stored: 0, refused: 0 };
  const received = new Map<string, number>();
  const { logger, lines } = listeningLogger();
  const errors = [new LogUnavailable("disk full"), new Error("bug")];
  const append = () => (isBroken ? Promise.reject(errors.shift()) : Promise.resolve());
  const log = { append, appendAll: append };
  const parts = { log, outcomes, received, logger, eventsPerSecondMax: 0.001 };
  const broken = openListener(parts);
  for (let n = 0; n < 2; n++) expect((await send(broken.port, get(PAGE))).status).toBe(503);
  expect(outcomes).toEqual({ stored: 0, refused: 2 });
  // The event log itself reports a full disk.
  expect(lines).toMatchObject([{ msg: "event log refused an event", err: { message: "bug" } }]);
  isBroken = false;
  expect((await send(broken.port, get(PAGE))).status).toBe(200);
  expect((await send(broken.port, get(PAGE))).status).toBe(429);
  expect(outcomes).toEqual({ stored: 1, refused: 2 });
  expect([...received]).toEqual([[`source-of-${WRITE_KEY}`, 1]]);
  await broken.stop();
});

test("a request that meets a defect is answered 500, and the next one is handled", async () => {
  const { logger, lines } = listeningLogger();
  const metrics = new Registry();
  const source = (writeKey: string) => {
    if (writeKey === "bad") throw new Error("A defect");
    return undefined;
  };
  const broken = openListener({ source, logger, metrics });
  const answer = await send(broken.port, get("/pixel/v1/page?writeKey=bad&userId=u"));
  expect(answer.status).toBe(500);
  expect(JSON.parse(answer.body)).toEqual({ message: "Internal error", code: 500 });
  const headers = { authorization: `Basic ${btoa("bad:")}` };
  const sent = await fetch(`${broken.url}/v1/track`, { method: "POST", headers, body: "{}" });
  expect(sent.status).toBe(500);
  expect((await send(broken.port, get(PAGE))).status).toBe(401);
  const failed = { msg: "ingest request failed", err: { message: "A defect" } };
  expect(lines).toMatchObject([failed, failed]);
  for (const [metric, statuses] of [
    ["pixelmill_pixel_requests_total", [500, 401]],
    ["pixelmill_sdk_requests_total", [500]],
  ] as const) {
    const { values } = await metrics.getSingleMetric(metric)!.get();
    expect(values.map(({ labels }) => labels.status) as unknown).toEqual([...statuses]);
  }
  await broken.stop();
});

test("a POST is accepted like a GET with any body, and the connection stays open", async () => {
  const count = server.records.length;
  const pixel = (n: number, headers: string, body: string) =>
    `POST ${TRACK}&n=${n} HTTP/1.1\r\nHost: a\r\n${headers}\r\n${body}`;
  const answer = await send(
    server.port,
    pixel(0, "Content-Length: 0\r\n", "") +
      pixel(1, "Content-Type: text/plain\r\nContent-Length: 5\r\n", "hello") +
      pixel(2, "Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n") +
      get(`${TRACK}&n=3`),
  );
  expect(answer.text.match(/HTTP\/1\.1 200 OK/g)?.length).toBe(4);
  const events = server.events().slice(count);
  expect(events.map(({ n }) => n)).toEqual(["0", "1", "2", "3"]);
  const { n: _, messageId: __, ...like } = events[1]!;
  expect(events[3]).toMatchObject({ ...like, ...times(events[3]!) });
});

const times = ({ originalTimestamp, sentAt, receivedAt }: Record<string, unknown>) => ({
  ...{ originalTimestamp, sentAt, receivedAt },
});

test("a POST with a body that is too long is refused and is no event", async () => {
  const count = server.records.length;
  const post = get(TRACK, "Content-Length: 65537\r\n").replace("GET", "POST");
  const answer = await send(server.port, `${post}${"x".repeat(65_537)}`);
  expect(answer.status).toBe(413);
  expect(JSON.parse(answer.body)).toEqual({
    message: "Expected a body of at most 65536 bytes, or of 5242880 for events of SDKs",
    code: 413,
  });
  expect(server.records.length).toBe(count);
});

test("a POST with a body that is too long to an unknown path is answered with 404", async () => {
  for (const headers of ["Content-Length: 65537\r\n", "Transfer-Encoding: chunked\r\n"]) {
    const post = get("/v1/bach", headers).replace("GET", "POST");
    const body = headers.startsWith("C") ? "x".repeat(65_537) : "10001\r\n";
    const answer = await send(server.port, post + body);
    expect([answer.status, JSON.parse(answer.body).message]).toEqual([404, nothingHere]);
  }
});

test("an incomplete request for which its network has no room left is answered with 503", async () => {
  const crowded = openListener();
  const head = "POST /v1/batch HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n";
  const part = Buffer.concat([Buffer.from(head), Buffer.alloc(4_900_000)]);
  const sockets = Array.from({ length: 4 }, () => {
    const socket = connect({ port: crowded.port, host: "127.0.0.1" });
    socket.write(part);
    return socket;
  });
  const answer = await Promise.race(sockets.map(readAll));
  expect(answer.status).toBe(503);
  expect(answer.head).toContain("Retry-After: 1\r\n");
  const message = "Too many requests are incomplete";
  expect(JSON.parse(answer.body)).toEqual({ message, code: 503 });
  for (const socket of sockets) socket.destroy();
  await crowded.stop();
});

test("any page may embed and time a pixel, and read when to send a refused one again", async () => {
  for (const target of [TRACK, "/pixel/v1/page"]) {
    const { head, status } = await send(server.port, get(target));
    const canRead = head.includes("Access-Control-Expose-Headers: Retry-After\r\n");
    expect(canRead).toBe(status !== 200);
    expect(head).toContain("Cross-Origin-Resource-Policy: cross-origin");
    expect(head).toContain("Timing-Allow-Origin: *");
    expect(head).toContain("Access-Control-Allow-Origin: *");
  }
});

test("read-only paths answer HEAD and preflights, and other methods with 405 and Allow", async () => {
  for (const path of ["/health", "/robots.txt"]) {
    const ask = (method: string) => send(server.port, get(path).replace("GET", method));
    const answer = await ask("POST");
    expect(answer.status).toBe(405);
    expect(answer.head).toContain("Allow: GET, HEAD, OPTIONS");
    expect([(await ask("HEAD")).status, (await ask("OPTIONS")).status]).toEqual([200, 204]);
  }
});

test("a health check in HTTP/1.0 without Host is answered", async () => {
  expect((await send(server.port, "GET /health HTTP/1.0\r\n\r\n")).status).toBe(200);
});

test("a preflight request is answered with 204", async () => {
  const answer = await fetch(`${server.url}/pixel/v1/track`, { method: "OPTIONS" });
  expect(answer.status).toBe(204);
  expect(answer.headers.get("access-control-allow-origin")).toBe("*");
  expect(answer.headers.get("access-control-allow-methods")).toBe("GET, POST, OPTIONS");
  expect(answer.headers.get("access-control-allow-headers")).toBe("*");
  expect(answer.headers.get("access-control-max-age")).toBe("86400");
});

test("a listener has no connections before it is started, and may be changed and stopped then", async () => {
  const metrics = new Registry();
  const listener = createIngestListener({
    ...{ metrics, logger: listeningLogger().logger, received: new Map() },
    ...{ trustedProxies: [], recordClientAddress: true, eventsPerSecondMax: 0 },
    ...{ source: () => undefined, log: {} as never, outcomes: { stored: 0, refused: 0 } },
  });
  listener.configure({ eventsPerSecondMax: 1, connectionsPerNetworkMax: 1, tls: undefined });
  const { values } = await metrics.getSingleMetric("pixelmill_pixel_connections")!.get();
  expect(values.map(({ value }) => value)).toEqual([0]);
  await listener.drain();
  await listener.stop();
});

test("/health and /robots.txt answer", async () => {
  const health = await fetch(`${server.url}/health`);
  expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
  const robots = await fetch(`${server.url}/robots.txt`);
  expect(await robots.text()).toBe("User-agent: *\nDisallow: /\n");
});

test("requests are counted by status, and open connections are shown", async () => {
  const metrics = new Registry();
  const counted = openListener({ metrics });
  const idle = connect({ port: counted.port, host: "127.0.0.1" });
  await new Promise((resolve) => idle.once("connect", resolve));
  await send(counted.port, get(PAGE));
  await send(counted.port, get("/pixel/v1/page"));
  const text = await metrics.getSingleMetricAsString("pixelmill_pixel_requests_total");
  expect(text).toContain('pixelmill_pixel_requests_total{status="200"} 1');
  expect(text).toContain('pixelmill_pixel_requests_total{status="400"} 1');
  const connections = () => metrics.getSingleMetricAsString("pixelmill_pixel_connections");
  while (!(await connections()).endsWith("pixelmill_pixel_connections 1")) await Bun.sleep(5);
  idle.destroy();
  await counted.stop();
});

test("stop waits for the responses in progress", async () => {
  const waiting = Promise.withResolvers<void>();
  const appended = Promise.withResolvers<void>();
  const slow = openListener({
    log: {
      append: () => {
        appended.resolve();
        return waiting.promise;
      },
      appendAll: () => waiting.promise,
    },
  });
  const answer = fetch(`${slow.url}${PAGE}`);
  await appended.promise;
  const stopped = slow.stop();
  waiting.resolve();
  expect((await answer).status).toBe(200);
  await stopped;
  await expect(fetch(`${slow.url}/health`)).rejects.toThrow();
});

testWith(missingPrograms("openssl"))(
  "a changed certificate is shown to new clients, and settings without one keep the last",
  async () => {
    const [first, second] = [newKeys(), newKeys()];
    const secure = openListener({ tls: first });
    const shown = async () => {
      const options = { host: "127.0.0.1", rejectUnauthorized: false };
      const client = connectTls({ ...options, port: secure.port });
      await once(client, "secureConnect");
      const { fingerprint256 } = client.getPeerCertificate();
      client.destroy();
      return fingerprint256;
    };
    const of = ({ cert }: { cert: string }) => new X509Certificate(cert).fingerprint256;
    const limits = { eventsPerSecondMax: 1_000, connectionsPerNetworkMax: 100 };
    expect(await shown()).toBe(of(first));
    secure.configure({ ...limits, tls: second });
    expect(await shown()).toBe(of(second));
    secure.configure({ ...limits, tls: undefined });
    expect(await shown()).toBe(of(second));
    secure.configure({ ...limits, tls: first });
    expect(await shown()).toBe(of(first));
    await secure.stop();
  },
);
