import { afterAll, beforeAll, expect, test } from "bun:test";
import { statSync } from "node:fs";
import { join } from "node:path";
import { pixelmillCommand } from "../e2e/command.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "../e2e/server.ts";

const sink = startSink();
const flags = ["--take-over", "--transformer-port", "0"];
let server: Server;
let writeKey: string;
beforeAll(async () => {
  // No server runs yet, so there is nothing to take over.
  server = await startServer({ flags });
  ({ writeKey } = await route(server, { url: sink.url }));
}, 300_000);
afterAll(async () => {
  await server.stop();
  sink.stop();
  removeDirectory(server.directory);
}, 300_000);

/** Returns the address at which a server listens for rudder-server. */
const transformerOf = (server: Server) =>
  server.output().match(/transformer listening on (\S+)/)![1]!;

const isTaken = async (userId: string) =>
  (await pixel(server, "page", { writeKey, userId })).status === 200;

/** Starts a server that takes over with these flags. */
function spawnSuccessor(...flags: string[]) {
  const data = join(server.directory, "data");
  const address = ["--host", "127.0.0.1", "--port", "0", "--admin-port", "0"];
  return Bun.spawn(
    [...pixelmillCommand, "serve", "--take-over", "--data", data, ...address, ...flags],
    { cwd: server.directory, stdin: "ignore", stdout: "ignore", stderr: "pipe" },
  );
}

/** Starts a server that takes over with these flags. Resolves with its exit code and its errors. */
async function takeOverWith(...flags: string[]): Promise<{ code: number; errors: string }> {
  const child = spawnSuccessor(...flags);
  const errors = await new Response(child.stderr).text();
  return { code: await child.exited, errors };
}

const takenTimes = () => server.errors().split("takes the sockets over").length - 1;

test("only the user of the server reaches the socket on which it hands its sockets over", () => {
  const { mode, uid } = statSync(join(server.directory, "data/take-over"));
  expect([mode & 0o777, uid]).toEqual([0o600, process.getuid!()]);
});

test("a server with invalid settings leaves the running server alone", async () => {
  const { code, errors } = await takeOverWith("--log-level", "loud");
  expect([code, errors]).toEqual([1, expect.stringContaining("log-level")]);
  expect(await isTaken("settings")).toBe(true);
  expect(server.errors()).not.toContain("takes the sockets over");
});

test("a server that cannot start after it has the sockets leaves the running server serving", async () => {
  const opened = takeOverWith("--geolocation-database", join(server.directory, "missing.mmdb"));
  await waitFor(() => server.errors().includes("takes the sockets over"));
  // Sent while no server or the other one accepts.
  const sent = Array.from({ length: 20 }, (_, at) =>
    Bun.sleep(at * 100).then(() => isTaken(`w${at}`)),
  );
  const { code, errors } = await opened;
  expect([code, errors]).toEqual([1, expect.stringContaining("missing.mmdb")]);
  expect(await Promise.all(sent)).toEqual(sent.map(() => true));
  expect(server.errors()).toContain("this one continues");
  expect((await server.api("GET", "/v2/sources")).status).toBe(200);
  await waitFor(() => new Set(sink.events.map(({ userId }) => userId)).size > sent.length);
}, 300_000);

test("a server that is killed before the running one has closed leaves it serving", async () => {
  const before = takenTimes();
  const successor = spawnSuccessor();
  await waitFor(() => takenTimes() > before);
  successor.kill("SIGKILL");
  const wentOn = () => server.errors().split("this one continues").length - 1;
  await waitFor(() => wentOn() === 2);
  expect(await isTaken("killed")).toBe(true);
  expect((await server.api("GET", "/v2/sources")).status).toBe(200);
}, 300_000);

test("a server takes over from the one that went on, with the same ports", async () => {
  const successor = await startServer({ directory: server.directory, flags });
  expect(await server.exited()).toBe(0);
  const { dataPlane, controlPlane } = server;
  const transformer = transformerOf(server);
  server = successor;
  expect(successor).toMatchObject({ dataPlane, controlPlane });
  expect(transformerOf(successor)).toBe(transformer);
  expect((await fetch(`${transformer}/health`)).status).toBe(200);
  expect(await isTaken("successor")).toBe(true);
  expect((await server.api("GET", "/v2/sources")).status).toBe(200);
}, 300_000);

test("a server continues with the sockets when the running one is killed before it has closed", async () => {
  const before = takenTimes();
  const start = startServer({ directory: server.directory, flags });
  await waitFor(() => takenTimes() > before);
  const sent = isTaken("orphan");
  await server.stop("SIGKILL");
  const { dataPlane } = server;
  server = await start;
  expect(server.dataPlane).toBe(dataPlane);
  expect(await sent.catch(() => true)).toBe(true);
  expect(await isTaken("after")).toBe(true);
}, 300_000);
