import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { childrenOf, removeDirectory, startServer, waitFor } from "../test/e2e/server.ts";
import type { Target } from "./load.ts";

/** A page view of about 300 bytes of query. */
const PAGE =
  "anonymousId=5094f5704b9cf2b3&name=Home&context.library.name=pixel&context.page.path=%2Fpricing" +
  "&context.page.title=Pricing%20and%20plans&context.page.referrer=https%3A%2F%2Fexample.com%2F" +
  "&context.screen.width=1920&context.screen.height=1080&properties.plan=pro&properties.revenue=29.99";

/** The same with a value that fills the URL up to the limit of 32,768 bytes. */
const filled = (target: string) => `${target}&properties.text=`.padEnd(32_768, "0123456789abcdef");

export interface TargetOptions {
  /** The executable to measure instead of the checkout. */
  command?: string | undefined;
  /** URLs of 32,768 bytes instead of about 370. */
  long?: boolean;
}

const targetOf = (writeKey: string, long = false) => {
  const target = `/pixel/v1/page?writeKey=${writeKey}&${PAGE}`;
  return long ? filled(target) : target;
};

export async function pixelmill({ command, long }: TargetOptions = {}): Promise<Target> {
  const server = await startServer(command ? { command: [resolve(command)] } : {});
  const { body } = await server.api("POST", "/v2/sources", { name: "Bench", type: "http" });
  return {
    name: "pixelmill, on disk",
    url: server.dataPlane + targetOf(body.source.writeKey, long),
    pids: childrenOf(server.pid, "ingest"),
    async stop() {
      await server.stop();
      removeDirectory(server.directory);
    },
  };
}

/** A Bun server of this folder, which prints its port. */
async function bunServer(name: string, file: string, long = false): Promise<Target> {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, file)], { stdout: "pipe" });
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
  bunServer("bare Bun.serve, keeps nothing", "bare-server.ts", long);

/** Our listener over a log that forgets: what durability costs. */
export const withoutLog = ({ long }: TargetOptions = {}) =>
  bunServer("pixelmill's listener, no log", "listener-without-log.ts", long);

/** nginx (Debian package) with one worker, `empty_gif` and a buffered access log: no fsync. */
export async function nginx(): Promise<Target | undefined> {
  if (Bun.which("nginx") === null) return undefined;
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-nginx-"));
  const port = await freePort();
  await Bun.write(
    join(directory, "nginx.conf"),
    `worker_processes 1; daemon off; pid nginx.pid; error_log error.log;
     events { worker_connections 4096; }
     http {
       access_log access.log combined buffer=256k flush=1s;
       client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
       uwsgi_temp_path uwsgi; scgi_temp_path scgi; keepalive_requests 100000000;
       server { listen 127.0.0.1:${port}; location / { empty_gif; } }
     }`,
  );
  const child = Bun.spawn(["nginx", "-p", directory, "-c", join(directory, "nginx.conf")], {
    stdout: "ignore",
    stderr: "ignore",
  });
  const origin = `http://127.0.0.1:${port}`;
  await waitFor(() =>
    fetch(origin)
      .then((answer) => answer.ok)
      .catch(() => undefined),
  );
  return {
    name: "nginx empty_gif, buffered log",
    url: origin + targetOf("0".repeat(27)),
    pids: childrenOf(child.pid, "worker process"),
    async stop() {
      child.kill();
      await child.exited;
      rmSync(directory, { recursive: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
