import { expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../free-ports.ts";
import { pixelmillCommand } from "./command.ts";
import {
  ADMIN_TOKEN,
  childrenOf,
  pixel,
  removeDirectory,
  route,
  startServer,
  startSink,
  waitFor,
} from "./server.ts";

test("the first start is ready when its admin token is valid, and its ingest process has no secret of the environment", async () => {
  const port = await freePort();
  const canary = { AWS_SECRET_ACCESS_KEY: "canary-of-aws", PIXELMILL_CLUSTER_PASSWORD: "canary" };
  const environment = { ...canary, TZ: "UTC", PATH: process.env.PATH ?? "" };
  const starting = startServer({ flags: ["--admin-port", String(port)], environment });
  const url = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
  // Without a pause, since the state between is short.
  while ((await fetch(`${url}/ready`).catch(() => undefined))?.status !== 200) await Bun.sleep(0);
  expect((await fetch(`${url}/v2/sources`, { headers })).status).toBe(200);
  const server = await starting;
  const ingest = childrenOf(server.pid, "ingest");
  expect(ingest.length).toBeGreaterThan(0);
  for (const pid of ingest) {
    const names = (await Bun.file(`/proc/${pid}/environ`).text())
      .split("\0")
      .map((pair) => pair.split("=")[0]!)
      .filter((name) => name !== "");
    expect(names.filter((name) => !/^(NODE_CHANNEL_|BUN_)/.test(name)).sort()).toEqual([
      "PATH",
      "TZ",
    ]);
  }
  expect(await server.stop()).toBe(0);
  removeDirectory(server.directory);
}, 300_000);

test("a second server on a data directory delivers nothing when the first one's ingest dies", async () => {
  const sink = startSink();
  const first = await startServer();
  const { writeKey } = await route(first, { url: sink.url });
  // A server of an older version does not offer its sockets.
  rmSync(join(first.directory, "data/take-over"));
  const command = [...pixelmillCommand, "serve", "--take-over"];
  const flags = ["--data", join(first.directory, "data"), "--host", "127.0.0.1", "--port", "0"];
  const second = Bun.spawn([...command, ...flags, "--admin-port", "0"], {
    cwd: first.directory,
    env: {},
    stdout: "pipe",
    stderr: "pipe",
  });
  // The second server waits for the first to end, which is visible only in its open lock file.
  await Bun.sleep(2_000);
  for (const pid of childrenOf(first.pid, "ingest")) process.kill(pid, "SIGKILL");
  await waitFor(async () => (await send("1").catch(() => undefined))?.status === 200);
  const [stdout, stderr, code] = await Promise.all([
    new Response(second.stdout).text(),
    new Response(second.stderr).text(),
    second.exited,
  ]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("the running server does not hand its sockets over");
  expect(stderr).not.toContain("no server to take over from");
  expect(stderr).toMatch(
    /^pixelmill: Expected to be the only server of .+ held its lock for 10 s: stop it first$/m,
  );
  expect((await send("2")).status).toBe(200);
  await waitFor(() => sink.events.length >= 2);
  expect(await first.stop()).toBe(0);
  const ids = sink.events.map(({ messageId }) => messageId);
  expect(new Set(ids).size).toBe(ids.length);
  sink.stop();
  removeDirectory(first.directory);

  function send(userId: string) {
    return pixel(first, "track", { writeKey, userId, event: "E" });
  }
}, 300_000);
