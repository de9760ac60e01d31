import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { pixelmillCommand } from "./command.ts";
import {
  childrenOf,
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  waitFor,
} from "./server.ts";

/** Ticks of CPU time (10 ms) after which a guest that has used them runs a loop. */
const LOOPS_TICKS = 20;

/** CPU time of all guests of a server, in ticks of 10 ms. */
function guestTicks({ pid }: Server): number {
  return childrenOf(pid, "guest").reduce((sum, guest) => {
    try {
      const stat = readFileSync(`/proc/${guest}/stat`, "latin1");
      return sum + Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[11]);
    } catch {
      return sum;
    }
  }, 0);
}

/** A receiver that never answers. */
function startHangingSink() {
  let requests = 0;
  const sink = startSink(() => {
    requests++;
    return new Promise(() => {});
  });
  return { ...sink, requests: () => requests };
}

test.concurrent("SIGTERM under load: no request is cut, nothing acknowledged is lost, exit 0", async () => {
  const sink = startSink();
  const server = await startServer();
  const { writeKey } = await route(server, { url: sink.url });
  const acknowledged = new Set<string>();
  let refused = 0;
  let stopping = false;
  const cut: unknown[] = [];
  const load = Array.from({ length: 16 }, async (_, worker) => {
    for (let index = 0; ; index++) {
      const id = `${worker}-${index}`;
      try {
        const query = { writeKey, userId: `u${worker}`, event: "Load", "properties.id": id };
        const response = await pixel(server, "track", query);
        if (response.status === 200) acknowledged.add(id);
        await response.arrayBuffer();
      } catch (error) {
        if ((error as { code?: string }).code === "ConnectionRefused") refused++;
        else if (!stopping) cut.push(error);
        return;
      }
    }
  });
  await waitFor(() => acknowledged.size > 500);
  stopping = true;
  expect(await server.stop("SIGTERM")).toBe(0);
  await Promise.all(load);
  expect(cut).toEqual([]);
  expect(refused).toBeLessThanOrEqual(16);

  const again = await startServer({ directory: server.directory });
  const missing = () => {
    const delivered = new Set(sink.events.map((event) => event.properties.id));
    return [...acknowledged].filter((id) => !delivered.has(id));
  };
  await waitFor(() => missing().length === 0, "the rest after restart").catch(() => {});
  expect(missing()).toEqual([]);
  await again.stop();
  sink.stop();
  removeDirectory(server.directory);
}, 300_000);

test.concurrent("Ctrl-C, which reaches every process of the group, loses no event and no guest", async () => {
  const sink = startSink();
  // A separate process group, like that of a terminal.
  const server = await startServer({ command: ["setsid", ...pixelmillCommand] });
  const code = `export function transformEvent(event) {
    for (let i = 0; i < 1e6; i++);
    return event;
  }`;
  const { writeKey } = await route(server, { url: sink.url, code });
  const sent = Array.from({ length: 200 }, (_, index) =>
    pixel(server, "page", { writeKey, userId: `u${index}` }),
  );
  await Promise.all(sent);
  process.kill(-server.pid, "SIGINT");
  await waitFor(() => server.errors().includes("stopping"));
  expect(await server.exited()).toBe(0);
  expect(server.errors()).not.toContain("crash");

  const users = () => new Set(sink.events.map((event) => event.userId)).size;
  await restartUntil(server, () => users() === sent.length);
  sink.stop();
}, 300_000);

test.concurrent("SIGTERM stops accepting, then ends hanging requests in time for exit 0", async () => {
  const sink = startHangingSink();
  const server = await startServer();
  const { writeKey } = await route(server, { url: sink.url, config: { timeoutMs: 60_000 } });
  const accepted = () =>
    pixel(server, "page", { writeKey, userId: "u" }).then(
      () => true,
      () => false,
    );
  expect(await accepted()).toBe(true);
  await waitFor(() => sink.requests() > 0);
  const before = guestTicks(server);
  // A test run in an endless loop is the request in flight.
  const code = "export function transformEvent() { for (;;); }";
  server
    .api("POST", "/transformations?publish=true", { name: "L", language: "javascript", code })
    .catch(() => {});
  await waitFor(() => guestTicks(server) > before + LOOPS_TICKS, "the loop to run");
  let ended = false;
  void server.stop().then(() => {
    ended = true;
  });
  await waitFor(async () => !(await accepted()));
  expect(ended).toBe(false);
  expect(await server.exited()).toBe(0);
  sink.stop();
  removeDirectory(server.directory);
}, 300_000);

test.concurrent("a second signal at once ends a server that waits for a hanging receiver", async () => {
  const sink = startHangingSink();
  const server = await startServer();
  const { writeKey } = await route(server, { url: sink.url, config: { timeoutMs: 60_000 } });
  await pixel(server, "page", { writeKey, userId: "u" });
  await waitFor(() => sink.requests() > 0);
  process.kill(server.pid, "SIGTERM");
  await waitFor(() => server.errors().includes("stopping"));
  expect(await server.stop("SIGTERM")).toBe(1);
  sink.stop();
  removeDirectory(server.directory);
}, 300_000);

test.concurrent("secrets are in no log line, no metric and no file except the catalog", async () => {
  const sink = startSink(() => 500);
  const server = await startServer({ flags: ["--log-level", "trace"] });
  const { writeKey } = await route(server, {
    url: sink.url,
    config: { secret: `whsec_${Buffer.from("canary".repeat(5)).toString("base64")}` },
  });
  await pixel(server, "page", { writeKey, userId: "u" });
  await pixel(server, "page", { writeKey: "an-unknown-key", userId: "u" });
  const { body } = await server.api("POST", "/v2/tokens", {
    name: "canary",
    permissions: ["events:read"],
  });
  await fetch(`${server.controlPlane}/v2/sources`, {
    headers: { authorization: `Bearer ${body.token.secret}` },
  });
  await Bun.sleep(1_000);
  // The metrics omit an ingest process that does not report its figures in time.
  const metrics = await waitFor(async () => {
    const text = await (await fetch(`${server.controlPlane}/metrics`)).text();
    return text.includes("pixelmill_pixel_requests_total") ? text : undefined;
  });
  expect(await server.stop()).toBe(0);
  const visible = server.errors() + server.output() + metrics;
  expect(metrics).toContain("pixelmill_pixel_requests_total");
  for (const secret of [writeKey, body.token.secret, "an-unknown-key", "whsec_", "e2eToken"]) {
    expect(visible).not.toContain(secret);
  }
  sink.stop();
  removeDirectory(server.directory);
}, 300_000);

/** Restarts a server on its data until all events have arrived; expects no dead letter. */
async function restartUntil({ directory }: Server, arrived: () => boolean): Promise<void> {
  const again = await startServer({ directory });
  await waitFor(arrived, "all events after restart");
  expect((await again.api("GET", "/v2/dead-letters")).body.paging.total).toBe(0);
  await again.stop();
  removeDirectory(directory);
}

test.concurrent("the log has the start and the end of a server, and no single event", async () => {
  const sink = startSink();
  const server = await startServer();
  const { writeKey } = await route(server, { url: sink.url });
  for (let n = 0; n < 20; n++) await pixel(server, "page", { writeKey, anonymousId: `a${n}` });
  await waitFor(() => sink.events.length === 20);
  expect(await server.stop("SIGTERM")).toBe(0);
  const lines = server.errors().trim().split("\n");
  const told = lines.map((line) => JSON.parse(line).msg).filter((msg) => msg !== "request done");
  expect(told).toEqual(["starting", "serving", "stopping", "stopped"]);
  sink.stop();
  removeDirectory(server.directory);
}, 300_000);

/** Length of a loop that no stop outlasts, however slow the machine is. */
const LOOP_MS_MAX = 24_000;

// Runs alone: the loop must last until the server ends, and it is limited by its CPU time.
test("SIGTERM does not wait for user code in a loop, whose events are delivered after restart", async () => {
  // A slow machine may need longer for a stop than the loop lasts.
  let loopMs = 3_000;
  while (!(await stopDuringLoop(loopMs))) {
    expect(loopMs).toBeLessThan(LOOP_MS_MAX);
    loopMs *= 2;
  }
}, 300_000);

/**
 * Stops a server whose user code loops, and restarts it; whether it stopped before the loop's end.
 */
async function stopDuringLoop(loopMs: number): Promise<boolean> {
  const sink = startSink();
  const server = await startServer();
  const code = `export function transformEvent(event) {
    while (Date.now() < event.properties.loopsUntil);
    return event;
  }`;
  const { writeKey } = await route(server, { url: sink.url, code });
  const loopsUntil = Date.now() + loopMs;
  const properties = (id: number) => ({
    "properties.id": `${id}`,
    "properties.loopsUntil": `${loopsUntil}`,
  });
  const sent = Array.from({ length: 30 }, (_, id) =>
    pixel(server, "page", { writeKey, userId: "loops", ...properties(id) }),
  );
  await Promise.all(sent);
  await Bun.sleep(500);
  expect(await server.stop()).toBe(0);
  const leftMs = loopsUntil - Date.now();
  await Bun.sleep(Math.max(0, leftMs));
  const ids = () => new Set(sink.events.map((event) => event.properties.id)).size;
  await restartUntil(server, () => ids() === sent.length);
  sink.stop();
  return leftMs > 0;
}
