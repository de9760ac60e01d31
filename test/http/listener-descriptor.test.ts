import { FFIType } from "bun:ffi";
import { expect, test } from "bun:test";
import { closeSync, openSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { openListeningSocket } from "../../src/http/listening-socket.ts";
import { inheritedSocket } from "../../src/http/sockets/inherited-socket.ts";
import { descriptorOfListener, replaceSocket } from "../../src/http/sockets/listener-descriptor.ts";
import { libcFunctions } from "../../src/libc.ts";
import { removeDirectory, temporaryDirectory } from "../e2e/server.ts";

test("the descriptor is that of the listener that was opened, among other sockets and files", async () => {
  const open = () => Bun.listen({ port: 0, hostname: "127.0.0.1", socket: { data() {} } });
  const earlier = open();
  let client: Promise<{ end(): void }> | undefined;
  let listener = earlier;
  // A connection that begins meanwhile is a socket, too, and one that does not listen.
  const fd = descriptorOfListener(() => {
    client = Bun.connect({ hostname: "127.0.0.1", port: earlier.port, socket: { data() {} } });
    listener = open();
  });
  expect(inheritedSocket(fd)).toEqual({ fd, host: "127.0.0.1", port: listener.port });
  expect(() => descriptorOfListener(() => {})).toThrow("Cannot find the file descriptor");
  (await client)!.end();
  earlier.stop(true);
  listener.stop(true);
});

const { i32 } = FFIType;
const [F_SETFD, F_SETFL] = [2, 4];
const [O_RDWR, O_NONBLOCK, O_CLOEXEC] = [2, 0o4000, 0o2000000];
/** Flags of an open file descriptor, as the kernel shows them. */
function flagsOf(fd: number): number {
  const info = readFileSync(`/proc/self/fdinfo/${fd}`, "latin1");
  return Number.parseInt(/^flags:\s+(\d+)/m.exec(info)![1]!, 8);
}

test("a socket of another process has its address, does not block, and stays in this process", () => {
  const { fcntl } = libcFunctions({ fcntl: { args: [i32, i32, i32], returns: i32 } })();
  const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
  const hosts = ["127.0.0.1", "::1"].filter((host) => own.some((it) => it.address === host));
  for (const host of hosts) {
    const { fd, port } = openListeningSocket({ host, port: 0 });
    fcntl(fd, F_SETFD, 0);
    fcntl(fd, F_SETFL, 0);
    expect(flagsOf(fd)).toBe(O_RDWR);
    expect(inheritedSocket(fd)).toEqual({ fd, host, port });
    expect(flagsOf(fd)).toBe(O_RDWR | O_NONBLOCK | O_CLOEXEC);
    closeSync(fd);
  }
});

test("a file, and a socket that is reached by a path, are no TCP sockets that listen", () => {
  const file = openSync("/dev/null", "r");
  expect(inheritedSocket(file)).toBeUndefined();
  closeSync(file);
  const directory = temporaryDirectory();
  let listener: { stop(closes: boolean): void } | undefined;
  const fd = descriptorOfListener(() => {
    listener = Bun.listen({ unix: join(directory, "socket"), socket: { data() {} } });
  });
  expect(inheritedSocket(fd)).toBeUndefined();
  listener!.stop(true);
  removeDirectory(directory);
});

test("a server of Bun whose socket is replaced answers on the other socket alone", async () => {
  let server: Bun.Server<undefined> | undefined;
  const fd = descriptorOfListener(() => {
    server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response("here") });
  });
  const { port } = server!;
  const other = openListeningSocket({ host: "127.0.0.1", port: 0 });
  replaceSocket(fd, other.fd);
  closeSync(other.fd);
  for (let n = 0; n < 2; n++) {
    expect(await (await fetch(`http://127.0.0.1:${other.port}/`)).text()).toBe("here");
  }
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  const file = openSync("/dev/null", "r");
  expect(() => replaceSocket(file, fd)).toThrow("how the event loop waits for descriptor");
  closeSync(file);
  await server!.stop(true);
});
