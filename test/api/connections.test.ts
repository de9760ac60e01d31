import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { IDLE_CONNECTION_SECONDS_MAX } from "../../src/limits.ts";
import { startApi, type TestApi } from "./_setup.ts";

/** What becomes of a connection: neither an idle nor a refused one is kept. */
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
  test(
    "that idles after its request, or stops within its body, is closed",
    async () => {
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
    },
    1_000 * (IDLE_CONNECTION_SECONDS_MAX + 20),
  );

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

  test("with a request under way at the stop gets its answer first", async () => {
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
    expect(fetch(`${stopping.url}/health`)).rejects.toThrow();
  });

  test("whose request never ends does not keep the listener from stopping", async () => {
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
  }, 30_000);
});
