import { expect, test } from "bun:test";
import { join } from "node:path";
import { pixelmillCommand } from "./command.ts";
import {
  childrenOf,
  pixel,
  removeDirectory,
  route,
  startServer,
  startSink,
  waitFor,
} from "./server.ts";

test("a second server on a data directory delivers nothing when the first one's ingest dies", async () => {
  const sink = startSink();
  const first = await startServer();
  const { writeKey } = await route(first, { url: sink.url });
  const command = [...pixelmillCommand, "serve"];
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
  expect(stderr).toMatch(
    /^pixelmill: Expected to be the only server of .+ held its lock for 10 s$/m,
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
