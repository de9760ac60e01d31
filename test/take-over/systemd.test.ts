import { FFIType, ptr } from "bun:ffi";
import { afterAll, expect, test } from "bun:test";
import { closeSync } from "node:fs";
import { join } from "node:path";
import { type ListeningSocket, openListeningSocket } from "../../src/http/listening-socket.ts";
import { openLibc } from "../../src/libc.ts";
import { activatedSockets } from "../../src/take-over/systemd.ts";
import { receiveOn } from "../../src/take-over/unix-socket.ts";
import { pixelmillCommand } from "../e2e/command.ts";
import { removeDirectory, temporaryDirectory, waitFor } from "../e2e/server.ts";

/** Servers whose sockets are opened by this process, as systemd opens them. */
const directory = temporaryDirectory();
const open = () => openListeningSocket({ host: "127.0.0.1", port: 0 });
const [data, control] = [open(), open()];
afterAll(() => {
  closeSync(data.fd);
  closeSync(control.fd);
  removeDirectory(directory);
});

/** Starts a server with sockets and their names in the variables of systemd. */
function start(names: string, sockets: readonly ListeningSocket[], notify = "") {
  // The variable LISTEN_PID is the id of the server's own process.
  const script = 'LISTEN_PID=$$ exec "$@"';
  const flags = ["--data", join(directory, "data"), "--port", "1", "--admin-port", "1"];
  return Bun.spawn(["/bin/sh", "-c", script, "sh", ...pixelmillCommand, "serve", ...flags], {
    env: {
      ...{ LISTEN_FDS: String(sockets.length), LISTEN_FDNAMES: names, NOTIFY_SOCKET: notify },
      TMPDIR: process.env.TMPDIR,
    },
    stdio: ["ignore", "pipe", "pipe", ...sockets.map(({ fd }) => fd)],
  });
}

/** Opens the Unix socket on which systemd receives the state of a service. */
function openNotifySocket(path: string): number {
  const { symbols } = openLibc({
    socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    bind: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  });
  const fd = symbols.socket(1, 2, 0);
  const address = Buffer.from(`\x01\0${path}\0`);
  expect(symbols.bind(fd, ptr(address), address.length)).toBe(0);
  return fd;
}

const health = () => fetch(`http://127.0.0.1:${data.port}/health`);
const console = () => fetch(`http://127.0.0.1:${control.port}/`);

test("sockets that systemd has passed to another process are not taken", () => {
  const passed = { LISTEN_FDS: "1", LISTEN_FDNAMES: "unknown" };
  const other = { ...passed, LISTEN_PID: String(process.pid + 1) };
  expect(activatedSockets(passed)).toEqual({});
  expect(activatedSockets(other)).toEqual({});
  const own = { ...passed, LISTEN_PID: String(process.pid) };
  expect(() => activatedSockets(own)).toThrow("got unknown");
});

test("a server serves on the sockets of systemd, and the next one answers who waited meanwhile", async () => {
  const notifications = openNotifySocket(join(directory, "notify"));
  const notified = (state: string) =>
    waitFor(() => receiveOn(notifications)?.bytes.toString() === state, state);
  const sockets = [control, data];
  const names = "control-plane:data-plane";
  const first = start(names, sockets, join(directory, "notify"));
  // Both planes are asked before the server listens.
  expect((await health()).status).toBe(200);
  expect((await console()).status).toBe(200);
  await notified("READY=1");
  first.kill("SIGTERM");
  await notified("STOPPING=1");
  expect(await first.exited).toBe(0);

  const waiting = [health(), console()];
  const second = start(names, sockets);
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
  const asked = Bun.spawn(
    [...pixelmillCommand, "serve", "--take-over", "--data", join(directory, "data")],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  expect(await new Response(asked.stderr).text()).toContain("systemctl restart");
  expect(await asked.exited).toBe(1);
  second.kill("SIGTERM");
  expect(await second.exited).toBe(0);
  closeSync(notifications);
}, 300_000);

test.each([
  ["data-plan", "one of data-plane, control-plane, transformer, each once, got data-plan"],
  ["", "each once, got without a name"],
])(
  "a socket with the name %p is refused with the names that are known",
  async (name, expected) => {
    const server = start(name, [data]);
    expect(await new Response(server.stderr as ReadableStream).text()).toContain(expected);
    expect(await server.exited).toBe(1);
  },
  300_000,
);
