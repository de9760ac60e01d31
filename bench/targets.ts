import { existsSync, mkdtempSync } from "node:fs";
import { join, resolve } from "node:path";
import { startNginx } from "../test/e2e/nginx.ts";
import { childrenOf, removeDirectory, type Server, startServer } from "../test/e2e/server.ts";
import { boundCommand } from "../test/shared.ts";
import type { Target } from "./load.ts";

/** Page pixel with a query of about 300 bytes. */
const PAGE =
  "anonymousId=5094f5704b9cf2b3&name=Home&context.library.name=pixel&context.page.path=%2Fpricing" +
  "&context.page.title=Pricing%20and%20plans&context.page.referrer=https%3A%2F%2Fexample.com%2F" +
  "&context.screen.width=1920&context.screen.height=1080&properties.plan=pro&properties.revenue=29.99";

/** Pads the URL to the limit of 32,768 bytes with a long property. */
const filled = (target: string) => `${target}&properties.text=`.padEnd(32_768, "0123456789abcdef");

export interface TargetOptions {
  /** Executable to measure instead of the checkout. */
  command?: string | undefined;
  /** URLs of 32,768 bytes instead of about 370. */
  long?: boolean;
  /** Keeps data in memory (tmpfs), to exclude the cost of the disk. */
  inMemory?: boolean;
  /** Connects a file destination to the source. */
  toFile?: boolean;
  /** Further flags of the server. */
  flags?: string[];
}

const MEMORY = "/dev/shm";
export const hasMemory = existsSync(MEMORY);

const targetOf = (writeKey: string, long = false) => {
  const target = `/pixel/v1/page?writeKey=${writeKey}&${PAGE}`;
  return long ? filled(target) : target;
};

export async function pixelmill(options: TargetOptions = {}): Promise<Target> {
  const { command, long, inMemory = false, toFile = false, flags = [] } = options;
  const server = await startServer({
    ...(command && { command: [resolve(command)] }),
    flags,
    ...(inMemory && { directory: mkdtempSync(join(MEMORY, "pixelmill-bench-")) }),
  });
  const { body } = await server.api("POST", "/v2/sources", { name: "Bench", type: "http" });
  if (toFile) await connectFile(server, body.source.id);
  return {
    name: inMemory ? "pixelmill, on tmpfs" : "pixelmill, on disk",
    connected: toFile ? "a file" : "nothing",
    url: server.dataPlane + targetOf(body.source.writeKey, long),
    pids: [server.pid, ...childrenOf(server.pid, "ingest")],
    ...(toFile && { settle: () => delivered(server) }),
    async stop() {
      await server.stop();
      removeDirectory(server.directory);
    },
  };
}

async function connectFile(server: Server, sourceId: string): Promise<void> {
  const { body } = await server.api("POST", "/v2/destinations", {
    name: "File",
    type: "file",
    config: { path: "pixels.jsonl" },
  });
  const destinationId = body.destination.id;
  await server.api("POST", "/v2/connections", { sourceId, destinationId });
}

/** Interval of polling the metrics, long because a scrape costs CPU too. */
const LAG_POLL_MS = 250;

async function delivered(server: Server): Promise<void> {
  while ((await lagEvents(server)) > 0) await Bun.sleep(LAG_POLL_MS);
}

/** Undelivered events of all lanes. */
async function lagEvents(server: Server): Promise<number> {
  const text = await (await fetch(`${server.controlPlane}/metrics`)).text();
  const lags = text.matchAll(/^pixelmill_lane_lag_events\{.*\} (\d+)$/gm);
  return [...lags].reduce((sum, [, lag]) => sum + Number(lag), 0);
}

/** Starts a Bun server of this folder, which prints its port. */
export async function bunServer(name: string, file: string, long = false): Promise<Target> {
  const child = Bun.spawn([...boundCommand, process.execPath, join(import.meta.dir, file)], {
    stdout: "pipe",
  });
  const reader = child.stdout.getReader();
  const port = new TextDecoder().decode((await reader.read()).value).trim();
  return {
    name,
    url: `http://127.0.0.1:${port}${targetOf("0".repeat(27), long)}`,
    pids: [child.pid],
    async stop() {
      child.kill();
      await child.exited;
    },
  };
}

export const bareBun = ({ long }: TargetOptions = {}) =>
  bunServer("bare Bun.serve, stores nothing", "bare-server.ts", long);

/** Durable bare server: the lower bound for a Bun server that stores pixels on this disk. */
export const durableBun = () => bunServer("bare Bun.serve, on disk", "durable-server.ts");

/** Answers without reading a request: the lower bound for a server over `Bun.listen`. */
export const bareSocket = () => bunServer("bare Bun.listen, reads nothing", "socket-server.ts");

/** Pixel listener without a log, which shows the cost of durability. */
export const withoutLog = ({ long }: TargetOptions = {}) =>
  bunServer("pixelmill's listener, no log", "listener-without-log.ts", long);

/** nginx (Debian package) with one worker, `empty_gif` and a buffered access log: no fsync. */
export async function nginx(): Promise<Target | undefined> {
  if (Bun.which("nginx") === null) return undefined;
  const { url, pid, stop } = await startNginx(
    (port) =>
      `access_log access.log combined buffer=256k flush=1s; keepalive_requests 100000000;
       server { listen 127.0.0.1:${port}; location / { empty_gif; } }`,
  );
  return {
    name: "nginx empty_gif, buffered log",
    url: url + targetOf("0".repeat(27)),
    pids: childrenOf(pid, "nginx: worker process"),
    stop,
  };
}
