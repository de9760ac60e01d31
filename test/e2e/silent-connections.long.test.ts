import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { IDLE_CONNECTION_SECONDS_MAX } from "../../src/settings/limits.ts";
import { pixelmillCommand } from "./command.ts";
import { removeDirectory, type Server, startServer, waitFor } from "./server.ts";

/** The control plane without TLS; its connections with TLS are those of `tls.long.test.ts`. */
const portOf = (server: Server) => Number(new URL(server.controlPlane).port);

/** Connects and sends a text; resolves with the milliseconds until the server closes. */
function closedAfter(port: number, text: string): Promise<number> {
  const startedAt = performance.now();
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => socket.write(text));
    socket.on("data", () => {});
    socket.on("error", () => {});
    socket.on("close", () => resolve(performance.now() - startedAt));
  });
}

test("a connection to the control plane that sends nothing, or not all, is closed in time", async () => {
  const server = await startServer();
  const texts = {
    nothing: "",
    "part of a line": "GET /health HTT",
    "part of a head": "GET /health HTTP/1.1\r\nHost: localhost\r\n",
    "part of a body":
      "POST /transformations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc",
    "one request": "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
  };
  const times = await Promise.all(
    Object.values(texts).map((text) => closedAfter(portOf(server), text)),
  );
  // Bun looks at its connections every few seconds.
  for (const ms of times) expect(ms).toBeGreaterThan(500 * IDLE_CONNECTION_SECONDS_MAX);
  await server.stop();
  removeDirectory(server.directory);
}, 300_000);

test("more silent connections than there are open files delay the control plane, and stop nothing", async () => {
  const files = 1_024;
  const limited = ["/bin/sh", "-c", `ulimit -n ${files}; exec "$@"`, "sh", ...pixelmillCommand];
  const server = await startServer({ command: limited });
  const sockets: Socket[] = [];
  for (let count = 0; count < 2 * files; count++) {
    const socket = connect(portOf(server), "127.0.0.1");
    socket.on("error", () => {});
    socket.resume();
    sockets.push(socket);
  }
  const isOpen = (socket: Socket) => socket.readyState === "open";
  await waitFor(() => sockets.filter(isOpen).length > files / 2 || undefined, "open connections");
  const health = () => fetch(`${server.controlPlane}/health`, { keepalive: false });
  await waitFor(async () => (await health().catch(() => undefined))?.status === 200 || undefined);
  expect((await fetch(`${server.dataPlane}/health`)).status).toBe(200);
  // Clients do not hear of all: the kernel forgets connections that it has no room for.
  const descriptors = () => readdirSync(`/proc/${server.pid}/fd`).length;
  await waitFor(() => descriptors() < files / 8 || undefined, "the end of silent connections");
  expect((await health()).status).toBe(200);
  expect(await server.stop()).toBe(0);
  removeDirectory(server.directory);
}, 300_000);
