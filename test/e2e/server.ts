import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { boundCommand } from "../shared.ts";
import { until as waitFor } from "../until.ts";
import { pixelmillCommand } from "./command.ts";

export { waitFor };

/** Real pixelmill server in a separate process, with free ports and a separate data directory. */
export interface Server {
  directory: string;
  dataPlane: string;
  controlPlane: string;
  pid: number;
  /** Returns the standard output until now. */
  output(): string;
  errors(): string;
  /** Sends a request to the control plane with the admin token. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: any }>;
  /** Waits until the process exits; resolves with the exit code. */
  exited(): Promise<number | null>;
  /** Sends a signal and waits for the exit; resolves with the exit code (null after SIGKILL). */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export const ADMIN_TOKEN = `pm_${"e2eToken".repeat(5)}`;

export function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), "pixelmill-test-"));
}

export interface StartOptions {
  directory?: string;
  command?: string[];
  flags?: string[];
  environment?: Record<string, string>;
}

export async function startServer(options: StartOptions = {}): Promise<Server> {
  const directory = options.directory ?? temporaryDirectory();
  const child = Bun.spawn(
    [
      ...boundCommand,
      ...(options.command ?? pixelmillCommand),
      "serve",
      ...["--data", join(directory, "data"), "--host", "127.0.0.1", "--port", "0"],
      ...["--admin-port", "0", "--egress-allow", "127.0.0.0/8", ...(options.flags ?? [])],
    ],
    {
      cwd: directory,
      env: { PIXELMILL_ADMIN_TOKEN: ADMIN_TOKEN, ...options.environment },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  const exited = () => child.exited.then(() => child.exitCode);
  const { text: output } = collect(child.stdout);
  const { text: errors, ended: errorsEnded } = collect(child.stderr);
  const url = (plane: string) =>
    waitFor(async () => {
      if (child.exitCode !== null) {
        await errorsEnded;
        throw new Error(`the server ended with ${child.exitCode}: ${errors()}`);
      }
      return output().match(new RegExp(`${plane} plane listening on (https?://\\S+)\n`))?.[1];
    });
  const [dataPlane, controlPlane] = await Promise.all([url("data"), url("control")]).catch(
    (error) => {
      child.kill("SIGKILL");
      throw error;
    },
  );
  return {
    directory,
    dataPlane,
    controlPlane,
    pid: child.pid,
    output,
    errors,
    async api(method, path, body) {
      const response = await fetch(controlPlane + path, {
        method,
        headers: { authorization: `Bearer ${ADMIN_TOKEN}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
    },
    exited,
    stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      return exited();
    },
  };
}

export function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
}

/** Collects what a stream has. `text` returns it up to now; `ended` resolves when it is whole. */
function collect(stream: ReadableStream<Uint8Array>): { text: () => string; ended: Promise<void> } {
  let text = "";
  const decoder = new TextDecoder();
  const ended = (async () => {
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  })();
  return { text: () => text, ended };
}

/**
 * Whether each lane has a final outcome for all of its events, when there are `lanes` lanes. The
 * server needs `metrics.tenants` to tell lanes of one kind apart. It answers `/metrics` with a text
 * that is up to a second old.
 */
export async function lanesAreThrough(server: Server, lanes: number): Promise<boolean> {
  const metrics = await (await fetch(`${server.controlPlane}/metrics`)).text();
  const lags = [...metrics.matchAll(/^pixelmill_lane_lag_events{[^}]*} (\S+)$/gm)];
  return lags.length >= lanes && lags.every(([, lag]) => lag === "0");
}

type SinkAnswer = number | Response;

/**
 * HTTP receiver that records the events it answers with 200; `answer` returns the status, 200 by
 * default, or the whole response.
 */
export function startSink(answer: (event: any) => SinkAnswer | Promise<SinkAnswer> = () => 200) {
  const events: any[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const body = (await request.json()) as any;
      const answered = await answer(body);
      if (typeof answered !== "number") return answered;
      if (answered === 200) events.push(...(Array.isArray(body) ? body : [body]));
      return new Response(null, { status: answered });
    },
  });
  return { url: `http://127.0.0.1:${server.port}/`, events, stop: () => server.stop(true) };
}

/**
 * Creates a source, a webhook destination and their connection; with code, a published
 * transformation too.
 */
export async function route(
  server: Pick<Server, "api">,
  options: { url: string; code?: string; config?: Record<string, unknown> },
): Promise<{
  writeKey: string;
  sourceId: string;
  destinationId: string;
  transformationId: string;
}> {
  const ok = (answer: { status: number; body: any }) => {
    if (answer.status > 201) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const { source } = ok(await server.api("POST", "/v2/sources", { name: "Website", type: "http" }));
  const { destination } = ok(
    await server.api("POST", "/v2/destinations", {
      name: "Sink",
      type: "webhook",
      config: { webhookUrl: options.url, ...options.config },
    }),
  );
  ok(
    await server.api("POST", "/v2/connections", {
      sourceId: source.id,
      destinationId: destination.id,
    }),
  );
  let transformationId = "";
  if (options.code !== undefined) {
    const { id } = ok(
      await server.api("POST", "/transformations?publish=true", {
        name: "Test",
        language: "javascript",
        code: options.code,
        destinationIds: [destination.id],
      }),
    );
    transformationId = id;
  }
  return {
    writeKey: source.writeKey,
    sourceId: source.id,
    destinationId: destination.id,
    transformationId,
  };
}

export function pixel(
  server: Pick<Server, "dataPlane">,
  type: "page" | "track",
  query: Record<string, string>,
) {
  return fetch(`${server.dataPlane}/pixel/v1/${type}?${new URLSearchParams(query)}`);
}

/** Child processes of `pid` that have `argument` among their arguments, from /proc. */
export function childrenOf(pid: number, argument?: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => {
      try {
        const parent = readFileSync(`/proc/${candidate}/stat`, "utf8")
          .split(") ")[1]!
          .split(" ")[1];
        const argv = readFileSync(`/proc/${candidate}/cmdline`, "utf8").split("\0");
        return Number(parent) === pid && (argument === undefined || argv.includes(argument));
      } catch {
        return false;
      }
    });
}
