import { expect, test } from "bun:test";
import { chmodSync, copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildExecutable } from "../run/executable.ts";
import { executableVariable, pixelmillCommand } from "./command.ts";
import {
  ADMIN_TOKEN,
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "./server.ts";

/**
 * Size in bytes that the executable must not exceed: 135 MB, of which Bun has 109 MB, and 0.34 MB
 * since it is built with less compression for tests.
 */
const EXECUTABLE_BYTES_MAX = 135_340_000;

/** Runs the executable alone in an empty directory with an empty environment. */
test("the single executable transforms and delivers events without other files", async () => {
  const directory = temporaryDirectory();
  const executable = join(directory, "pixelmill");
  const built = process.env[executableVariable] ?? join(temporaryDirectory(), "pixelmill");
  if (process.env[executableVariable] === undefined) await buildExecutable(built);
  copyFileSync(built, executable);
  chmodSync(executable, 0o755);
  expect(Bun.file(executable).size).toBeLessThanOrEqual(EXECUTABLE_BYTES_MAX);

  const server = await startServer({ directory, command: [executable], environment: {} });
  const sink = startSink();
  const code = `import { shout } from "text";
    export const transformEvent = (event) => ({ ...event, loud: shout(event.name) });`;
  await server.api("POST", "/libraries?publish=true", {
    name: "text",
    language: "javascript",
    code: "export const shout = (text) => String(text).toUpperCase();",
  });
  const { writeKey } = await route(server, { url: sink.url, code });
  const answer = await pixel(server, "page", { writeKey, userId: "u1", name: "Home" });
  expect(answer.status).toBe(200);
  await waitFor(() => sink.events.length === 1);
  expect(sink.events[0]).toMatchObject({ type: "page", userId: "u1", loud: "HOME" });

  // The Kafka client, whose WebAssembly is in the executable, reaches the network.
  const { destination } = await made(server, "/v2/destinations", {
    ...{ name: "Stream", type: "kafka" },
    config: { brokers: "127.0.0.1:1", topic: "events", tls: "off" },
  });
  const { steps } = await made(server, `/v2/destinations/${destination.id}/test`, {});
  expect(steps.map(({ step, message }: any) => [step, message])).toEqual([
    ["resolve", undefined],
    ["connect", "Broker 127.0.0.1:1: The connection failed: connection refused (ECONNREFUSED)"],
  ]);

  // The guide's pages are in the executable.
  const authorization = `Bearer ${ADMIN_TOKEN}`;
  for (const path of ["", "/tutorial", "/destinations/webhook", "/reference/limits"]) {
    const guide = await fetch(`${server.controlPlane}/docs/guide${path}`, {
      headers: { authorization },
    });
    expect([path, guide.status]).toEqual([path, 200]);
    expect(await guide.text()).toContain('<link rel="stylesheet" href="/console/');
  }

  // The executable writes no file outside the data directory.
  expect(readdirSync(directory).sort()).toEqual(["data", "pixelmill"]);
  expect(await server.stop()).toBe(0);
  sink.stop();
  removeDirectory(directory);
}, 300_000);

test("npm start serves the demo, and a second start finds its data again", async () => {
  const directory = temporaryDirectory();
  const first = await startDemo(directory);
  const answer = await fetch(first.pixelUrl);
  expect(answer.status).toBe(200);
  const file = first.file;
  await waitFor(() => (Bun.file(file).size > 0 ? true : undefined));
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
    type: "page",
    name: "Home",
    properties: { plan: "pro", greeting: "HELLO FROM DEMO!" },
  });
  expect(await first.stop()).toBe(0);

  const second = await startDemo(directory, [...pixelmillCommand, "serve", "--demo"]);
  const writeKey = (url: string) => new URL(url).searchParams.get("writeKey");
  expect(writeKey(second.pixelUrl)).toBe(writeKey(first.pixelUrl));
  await fetch(second.pixelUrl);
  const lines = () => readFileSync(file, "utf8").trim().split("\n");
  await waitFor(() => lines().length === 2);
  expect(await second.stop()).toBe(0);
  removeDirectory(directory);
}, 300_000);

async function made(server: Server, path: string, body: object) {
  const answer = await server.api("POST", path, body);
  expect([path, answer.status]).toEqual([path, path.endsWith("/test") ? 200 : 201]);
  return answer.body;
}

/** README.md says that Bun alone suffices. */
const npmStart = Bun.which("npm") === null ? ["bun", "run", "start"] : ["npm", "start"];

async function startDemo(directory: string, start = npmStart) {
  const child = Bun.spawn(start, {
    env: {
      PATH: process.env.PATH ?? "",
      PIXELMILL_DATA: join(directory, "data"),
      PIXELMILL_PORT: "0",
      PIXELMILL_ADMIN_PORT: "0",
    },
    stdout: "pipe",
    stderr: "ignore",
  });
  let output = "";
  const reading = (async () => {
    for await (const chunk of child.stdout) output += new TextDecoder().decode(chunk);
  })();
  const ready = () => output.match(/control plane listening on (\S+)/);
  await waitFor(() => ready() ?? undefined, "the ready lines");
  return {
    pixelUrl: output.match(/http:\S+\/pixel\/v1\/page\S+/)![0],
    file: output.match(/look into (\S+)/)![1]!,
    async stop() {
      child.kill();
      await reading;
      return await child.exited;
    },
  };
}
