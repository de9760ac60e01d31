import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Missing, missingPrograms } from "../../counterpart.ts";
import { freePort } from "../../free-ports.ts";

/** Where continuous integration puts chDB. */
const library = join(import.meta.dir, "../../../node_modules/.chdb");

export const clickhouseMissing: Missing = existsSync(join(library, "chdb"))
  ? missingPrograms("python3")
  : "chDB not installed";

/** A ClickHouse of its own, on loopback, which `end` takes away with its files. */
export class ClickhouseServer {
  readonly password = 'it\'s "secret"';
  port = 0;
  readonly #directory: string;
  #process: Bun.Subprocess<"ignore", "pipe", "inherit"> | undefined;

  private constructor(root: string) {
    this.#directory = mkdtempSync(join(root, "pixelmill-test-clickhouse-"));
  }

  /** Starts a server whose files are under `root`. */
  static async start(root = tmpdir()): Promise<ClickhouseServer> {
    const server = new ClickhouseServer(root);
    await server.run();
    return server;
  }

  /** The keys of a destination's config for this server. */
  get account() {
    return { url: `http://127.0.0.1:${this.port}`, user: "default", password: this.password };
  }

  /** Runs the server, again on its port. */
  async run(): Promise<void> {
    if (this.port === 0) this.port = await freePort();
    const script = join(import.meta.dir, "clickhouse-server.py");
    const data = join(this.#directory, "data");
    this.#process = Bun.spawn(["python3", script, String(this.port), data, this.password], {
      env: { PATH: process.env.PATH ?? "", PYTHONPATH: library, PYTHONDONTWRITEBYTECODE: "1" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
      cwd: this.#directory,
    });
    const { value } = await this.#process.stdout.getReader().read();
    this.port = Number(Buffer.from(value ?? []).toString());
    if (!(this.port > 0)) throw new Error("ClickHouse does not start");
  }

  get pid(): number {
    return this.#process!.pid;
  }

  /** Ends the server at once, as a crash does. */
  async stop(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.exited;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** Runs a statement and returns its result. */
  async ask(sql: string): Promise<string> {
    const headers = { "x-clickhouse-user": "default", "x-clickhouse-key": this.password };
    const { url } = this.account;
    const answer = await fetch(url, { method: "POST", body: sql, headers, keepalive: false });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text.trimEnd();
  }

  async rows(query: string): Promise<Record<string, unknown>[]> {
    const text = await this.ask(`${query} format JSONEachRow`);
    return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line));
  }
}
