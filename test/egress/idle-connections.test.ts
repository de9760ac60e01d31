import { afterEach, describe, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { createResolver } from "../../src/egress/dns/dns-resolver.ts";
import { createEgress } from "../../src/egress/egress.ts";
import { guestFetch } from "../../src/egress/guest-fetch.ts";
import { keepMs } from "../../src/egress/http-client.ts";
import { until } from "../until.ts";
import { failureOf, finding, ok, requestTo } from "./request-client.ts";
import { RawSink } from "./sink.ts";

/** When connections are used again, and when they must not be. */

const ends: (() => unknown)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function setUp(answer: (socket: Socket, request: string) => void) {
  const sink = new RawSink(answer);
  const url = `http://127.0.0.1:${await sink.listen()}/`;
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  ends.push(egress.close, () => sink.close());
  return { sink, egress, url };
}

test("all concurrent connections are kept and used again", async () => {
  const waiting: Socket[] = [];
  const { sink, egress, url } = await setUp((socket) => {
    waiting.push(socket);
    if (waiting.length === 3) for (const one of waiting.splice(0)) one.write(ok);
  });
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 3 }, () => egress.request(requestTo(url))));
  }
  expect(sink.connections).toBe(3);
  expect(sink.requests.length).toBe(9);
});

describe("a receiver that reads no body of GET, HEAD and DELETE", () => {
  const planted = "POST /planted HTTP/1.1\r\nHost: x\r\nX-Rest: ";

  test.each(["GET", "HEAD", "DELETE", "OPTIONS", "PURGE"])(
    "gets no request after one of %s with a body over the same connection",
    async (method) => {
      const { sink, egress, url } = await setUp((socket, request) => {
        // The body is the beginning of a request, which the next one would complete.
        if (request.includes("\r\n\r\n")) socket.write(ok);
      });
      await egress.request({ ...requestTo(url), method, body: Buffer.from(planted) });
      await egress.request({ ...requestTo(`${url}next`), method: "GET" });
      expect(sink.connections).toBe(2);
      expect(sink.requests.at(-1)).toStartWith("GET /next HTTP/1.1\r\n");
    },
  );

  test.each(["POST", "PUT", "PATCH"])("a connection is used again after %s", async (method) => {
    const { sink, egress, url } = await setUp((socket) => void socket.write(ok));
    for (let n = 0; n < 2; n++) {
      await egress.request({ ...requestTo(url), method, body: Buffer.from("x") });
    }
    expect(sink.connections).toBe(1);
  });
});

test("a connection of one workspace carries no request of another one", async () => {
  const { sink, egress, url } = await setUp((socket) => void socket.write(ok));
  for (const workspaceId of ["a", "b", "a", "b"]) {
    await egress.request({ ...requestTo(url), workspaceId });
  }
  expect(sink.connections).toBe(2);
});

test("a connection that its response closed is not used for a request that must be sent once only", async () => {
  const { sink, egress, url } = await setUp((socket) => {
    socket.write("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
  });
  for (let n = 0; n < 3; n++) {
    const { status } = await egress.request({ ...requestTo(url), isRepeatable: false });
    expect(status).toBe(200);
  }
  expect(sink.connections).toBe(3);
});

test("bytes without a request close the connection", async () => {
  const sockets: Socket[] = [];
  const { sink, egress, url } = await setUp((socket) => {
    sockets.push(socket);
    socket.write(ok);
  });
  await egress.request(requestTo(url));
  sockets[0]!.write("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nplanted");
  await until(() => sink.open === 0);
  const { body } = await egress.request(requestTo(url));
  expect(body.byteLength).toBe(0);
  expect(sink.connections).toBe(2);
});

test("each idle connection closes when its own time is over", async () => {
  const { sink, egress, url } = await setUp((socket, request) => {
    const seconds = request.includes("/short") ? 1 : 2;
    socket.write(`${ok.slice(0, -2)}Keep-Alive: timeout=${seconds}\r\n\r\n`);
  });
  await Promise.all(["short", "long"].map((path) => egress.request(requestTo(url + path))));
  await until(() => sink.open === 0);
  expect(sink.connections).toBe(2);
});

test("a connection whose time is over carries no other request, although it is still open", async () => {
  const { sink, egress, url } = await setUp((socket) => {
    socket.write(`${ok.slice(0, -2)}Keep-Alive: timeout=0\r\n\r\n`);
  });
  for (let n = 0; n < 3; n++) await egress.request(requestTo(url));
  expect(sink.connections).toBe(3);
});

test("a connection is dropped a second before the receiver's Keep-Alive timeout, or at half of it", () => {
  expect(keepMs("timeout=5, max=100")).toBe(4_000);
  expect(keepMs("max=100, Timeout=60")).toBe(59_000);
  expect(keepMs("timeout=1")).toBe(500);
  expect(keepMs("timeout=0")).toBe(0);
  for (const other of ["", "max=5", "xtimeout=5", "timeout=x"])
    expect(keepMs(other)).toBeUndefined();
  expect(keepMs()).toBeUndefined();
});

test("a receiver that half-closes the connection without reading ends the request", async () => {
  const sink = new RawSink();
  const url = `http://127.0.0.1:${await sink.listen()}/`;
  sink.onConnection = (socket) => {
    socket.pause();
    socket.end();
  };
  const egress = createEgress({ allow: ["127.0.0.0/8"] });
  ends.push(egress.close, () => sink.close());
  const request = { ...requestTo(url), body: new Uint8Array(32 << 20), timeoutMs: 100_000 };
  expect(await failureOf(egress.request(request))).toMatchObject({
    message: "The response ended early",
  });
}, 300_000);

describe("fetch of user code", () => {
  const guest = (url: string, method: string) => ({
    workspaceId: "w",
    url,
    method,
    headers: {},
    body: "",
    timeoutMs: 60_000,
    answerBytesMax: 2,
  });
  const { signal } = new AbortController();

  test.each([
    ...["GET", "head", "OPTIONS", "PUT", "DELETE"].map((method) => [method, true] as const),
    ...["POST", "PATCH"].map((method) => [method, false] as const),
  ])("%s is sent again where a kept connection had ended: %p", async (method, isRepeated) => {
    const seen = new Set<Socket>();
    const { sink, egress, url } = await setUp((socket) => {
      if (seen.has(socket)) socket.destroy();
      else socket.write(ok);
      seen.add(socket);
    });
    const fetch = guestFetch(egress);
    await fetch(guest(url, method), signal);
    const second = fetch(guest(url, method), signal).then(
      ({ status }) => status,
      (error: Error) => error.message,
    );
    expect(await second).toBe(isRepeated ? 200 : "The request failed");
    expect(sink.requests.length).toBe(isRepeated ? 3 : 2);
  });

  test("gets errors of the policy and of DNS, and no internal address", async () => {
    const { egress, sink, url } = await setUp((socket) => void socket.destroy());
    const told = (error: unknown) => (error as Error).message;
    const fetch = guestFetch(egress);
    expect(told(await failureOf(fetch(guest("http://10.0.0.1/", "GET"), signal)))).toContain(
      "must not reach this address",
    );
    const lost = createEgress({ allow: [], resolve: createResolver({ servers: ["127.0.0.1:1"] }) });
    ends.push(lost.close);
    expect(told(await failureOf(guestFetch(lost)(guest("http://x.test/", "GET"), signal)))).toMatch(
      /^The name server/,
    );
    expect(told(await failureOf(fetch(guest(url, "GET"), signal)))).toBe("The request failed");
    sink.close();
  });

  test("gets responses up to its limit, and an error for longer ones", async () => {
    let body = "ab";
    const { egress, url } = await setUp((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    });
    const fetch = guestFetch(egress);
    expect(await fetch(guest(url, "POST"), signal)).toMatchObject({ url, body: "ab" });
    body = "abc";
    const error = await failureOf(fetch(guest(url, "POST"), signal));
    expect(error).toEqual(new Error("Expected an answer of at most 2 bytes"));
  });
});

test("an egress keeps no reference to a closed connection", async () => {
  const sink = new RawSink();
  const port = await sink.listen();
  const egress = createEgress({ allow: ["127.0.0.0/8"], resolve: finding("127.0.0.1") });
  ends.push(egress.close, () => sink.close());
  const held: WeakRef<Socket>[] = [];
  for (let n = 0; n < 40; n++) {
    const { signal } = new AbortController();
    const to = { workspaceId: "w", host: "sink.test", port, timeoutMs: 60_000, signal };
    const socket = await egress.connect(to);
    held.push(new WeakRef(socket));
    socket.destroy();
  }
  await until(() => sink.open === 0);
  const alive = () => held.filter((socket) => socket.deref() !== undefined).length;
  for (let n = 0; n < 50 && alive() > 10; n++) {
    await Bun.sleep(10);
    Bun.gc(true);
  }
  // The collector may take an old word on the stack for one that is alive.
  expect(alive()).toBeLessThanOrEqual(10);
});
