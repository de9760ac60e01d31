import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { BODY_BYTES_MAX } from "../../../src/settings/limits.ts";
import { startApi, type TestApi } from "../_setup.ts";

/** Lifetime of TCP connections: neither an idle nor a refused one stays open. */
let api: TestApi;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.stop());

interface Opened {
  socket: Socket;
  received(): string;
  closed: Promise<void>;
}

function open(...lines: string[]): Opened {
  const socket = connect(Number(new URL(api.url).port), "127.0.0.1");
  let received = "";
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1");
  });
  socket.on("error", () => {});
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  return { socket, received: () => received, closed };
}

const authorization = () => `Authorization: Bearer ${api.token}`;

describe("a connection", () => {
  test("that asks for a tunnel is refused and closed, so that no later request hangs on it", async () => {
    for (const target of ["a.test:443", "/health", "/"]) {
      const { received, closed } = open(`CONNECT ${target} HTTP/1.1`, "Host: a.test");
      await closed;
      expect([target, received()]).toEqual([
        target,
        expect.stringMatching(/^HTTP\/1\.1 40[45] .*\r\nConnection: close\r\n/s),
      ]);
    }
  });

  test("whose body is too large can send all of it, and then reads 413", async () => {
    const body = Buffer.alloc(3 * BODY_BYTES_MAX, " ");
    const json = "Content-Type: application/json";
    for (const length of [`Content-Length: ${body.length}`, "Transfer-Encoding: chunked"]) {
      const head = ["POST /transformations HTTP/1.1", "Host: x", authorization(), json, length];
      const { socket, received, closed } = open(...head);
      const errors: Error[] = [];
      socket.on("error", (error) => errors.push(error));
      const sent = Promise.withResolvers<void>();
      const chunked = length.startsWith("Transfer");
      if (chunked) socket.write(`${body.length.toString(16)}\r\n`);
      socket.write(body, () => sent.resolve());
      if (chunked) socket.write("\r\n0\r\n\r\n");
      await sent.promise;
      await closed;
      expect([length, errors, received()]).toEqual([
        length,
        [],
        expect.stringMatching(/^HTTP\/1\.1 413 .*"Expected a body of at most 4194304 bytes/s),
      ]);
    }
  }, 300_000);

  test.concurrent("that idles after its request, or stops within its body, is closed", async () => {
    const idle = open("GET /transformations HTTP/1.1", "Host: x", authorization());
    const half = open(
      "POST /transformations HTTP/1.1",
      "Host: x",
      authorization(),
      "Content-Type: application/json",
      "Content-Length: 100",
    );
    await Promise.all([idle.closed, half.closed]);
    expect(idle.received()).toStartWith("HTTP/1.1 200");
    expect(half.received()).toBe("");
  }, 300_000);

  test.concurrent("whose request never ends does not keep the listener from stopping", async () => {
    const entered = Promise.withResolvers<void>();
    const stopping = await startApi({
      metricsText() {
        entered.resolve();
        return new Promise(() => {});
      },
    });
    const cut = stopping.send("GET", "/metrics").catch((error: Error) => error);
    await entered.promise;
    await stopping.stop();
    expect(await cut).toBeInstanceOf(Error);
  }, 300_000);

  test("whose body is too large is answered and closed, unread", async () => {
    const large = open(
      "POST /transformations HTTP/1.1",
      "Host: x",
      authorization(),
      "Content-Type: application/json",
      `Content-Length: ${1 << 30}`,
    );
    await large.closed;
    expect(large.received()).toStartWith("HTTP/1.1 413");
  });

  test("with a request in progress at the stop gets its answer first", async () => {
    const entered = Promise.withResolvers<void>();
    const leave = Promise.withResolvers<string>();
    const stopping = await startApi({
      metricsText() {
        entered.resolve();
        return leave.promise;
      },
    });
    const answer = stopping.send("GET", "/metrics");
    await entered.promise;
    const stopped = stopping.stop();
    leave.resolve("all of it");
    expect((await answer).text).toBe("all of it");
    await stopped;
    await expect(fetch(`${stopping.url}/health`)).rejects.toThrow();
  });
});
