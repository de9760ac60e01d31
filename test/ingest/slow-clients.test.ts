import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { IDLE_CONNECTION_SECONDS_MAX } from "../../src/settings/limits.ts";
import { get, openListener, send, WRITE_KEY } from "./harness.ts";

/**
 * Slow clients hold a connection 15 s at most, whether they send nothing or a byte a second: the
 * time counts from the last answer, not from the last byte.
 */
const CLOSED_SECONDS_MAX = 15;
/** For a machine that is busy with other tests; who drips is not let go at all if bytes count. */
const MARGIN_SECONDS = 60;

const TARGET = `/pixel/v1/page?writeKey=${WRITE_KEY}&anonymousId=a`;
const LINE = `GET ${TARGET} HTTP/1.1\r\nHost: a\r\n`;

const clients: readonly (readonly [name: string, first: string, drip?: string])[] = [
  ["silent", ""],
  ["with half a request line", "GET /pix"],
  ["with half a head", LINE],
  ["with an idle connection after a pixel", `${LINE}\r\n`],
  ["with half a request after a pixel", `${LINE}\r\nGET /pix`],
  ["dripping a request line", "GET /pixel", "a"],
  ["dripping a header", `${LINE}X: `, "a"],
  ["dripping headers", LINE, "X: a\r\n"],
  ["dripping the next request", `${LINE}\r\n`, "G"],
  ["dripping the body of a GET", `${LINE}Content-Length: 1000\r\n\r\n`, "a"],
  [
    "dripping the body of a POST",
    `${LINE.replace("GET", "POST")}Content-Length: 1000\r\n\r\n`,
    "a",
  ],
  [
    "dripping chunks",
    `${LINE.replace("GET", "POST")}Transfer-Encoding: chunked\r\n\r\n`,
    "1\r\na\r\n",
  ],
];

let server: ReturnType<typeof openListener>;
beforeAll(() => {
  server = openListener();
});
afterAll(() => server.stop());

for (const [name, first, drip] of clients) {
  test.concurrent(`the connection of a client ${name} is closed`, async () => {
    const seconds = await closedAfter(first, drip);
    expect(seconds).toBeLessThan(CLOSED_SECONDS_MAX + MARGIN_SECONDS);
  }, 300_000);
}

test.concurrent("a half-open connection is closed at once", async () => {
  for (const first of ["", LINE]) {
    // Slower clients are closed later than that.
    expect(await closedAfter(first, undefined, true)).toBeLessThan(IDLE_CONNECTION_SECONDS_MAX - 1);
  }
});

test.concurrent("pixels are served while 500 connections are silent", async () => {
  const silent = Array.from({ length: 500 }, () =>
    connect({ port: server.port, host: "127.0.0.1" }),
  );
  await Promise.all(
    silent.map((socket) => new Promise((resolve) => socket.once("connect", resolve))),
  );
  expect((await send(server.port, get(TARGET))).status).toBe(200);
  for (const socket of silent) socket.destroy();
});

/** Seconds until the server closes a connection that sends this, then a piece each second. */
async function closedAfter(first: string, drip = "", isHalfOpen = false): Promise<number> {
  const startedAt = performance.now();
  const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: isHalfOpen });
  const dripping = setInterval(() => socket.write(drip), 1_000);
  socket.resume();
  // A reset is a close too.
  socket.on("error", () => {});
  socket.once("connect", () => {
    socket.write(first);
    if (isHalfOpen) socket.end();
  });
  await new Promise((resolve) => socket.once("close", resolve));
  clearInterval(dripping);
  return (performance.now() - startedAt) / 1_000;
}
