import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Missing } from "../../counterpart.ts";
import { good } from "../../egress/tls.ts";
import { freePort } from "../../free-ports.ts";
import { keep, keptPath } from "../../kept.ts";

/** Where Debian keeps PostgreSQL's programs, the newest version. */
function programs(): string | undefined {
  const root = "/usr/lib/postgresql";
  const versions = existsSync(root) ? readdirSync(root) : [];
  const newest = versions.sort((a, b) => Number(a) - Number(b)).at(-1);
  return newest === undefined ? undefined : `${root}/${newest}/bin`;
}

export const postgresMissing: Missing =
  programs() !== undefined ? undefined : "PostgreSQL not installed";

const unprivilegedId = 65_534;
/** PostgreSQL does not run as root. */
const asNobody =
  process.getuid?.() === 0
    ? ["setpriv", `--reuid=${unprivilegedId}`, `--regid=${unprivilegedId}`, "--clear-groups"]
    : [];

/** A PostgreSQL of its own, on loopback, which `end` takes away with its files. */
export class PostgresServer {
  readonly directory = mkdtempSync(join(tmpdir(), "pixelmill-test-postgres-"));
  readonly password = 'it\'s "secret" äé';
  port = 0;
  #process: Bun.Subprocess | undefined;

  static async start(): Promise<PostgresServer> {
    const server = new PostgresServer();
    try {
      await server.#prepare();
      await server.run();
    } catch (error) {
      await server.end();
      throw error;
    }
    return server;
  }

  /** The keys of a destination's config for this server. */
  get account() {
    const { port, password } = this;
    return { host: "127.0.0.1", port, database: "postgres", user: "postgres", password };
  }

  /** Runs the server on its port, until it takes connections. */
  async run(...settings: string[]): Promise<void> {
    if (this.port === 0) this.port = await freePort();
    const flags = [
      ...["-D", this.#data, "-p", String(this.port), "-k", this.directory],
      ...["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "shared_buffers=16MB"],
      ...settings.flatMap((setting) => ["-c", setting]),
    ];
    this.#process = Bun.spawn([...asNobody, `${programs()}/postgres`, ...flags], {
      stdout: "ignore",
      stderr: Bun.file(join(this.directory, "log")),
      cwd: "/",
    });
    for (let tries = 0; tries < 2_400; tries++) {
      const { exitCode } = Bun.spawnSync([
        ...[`${programs()}/pg_isready`, "-q", "-h", "127.0.0.1", "-p", String(this.port)],
      ]);
      if (exitCode === 0) return;
      if (this.#process.exitCode !== null) break;
      await Bun.sleep(50);
    }
    throw new Error(
      `PostgreSQL does not start: ${await Bun.file(join(this.directory, "log")).text()}`,
    );
  }

  /** Ends the server at once, as a crash does, or in order. */
  async stop(signal: "SIGQUIT" | "SIGINT" = "SIGQUIT"): Promise<void> {
    this.#process?.kill(signal);
    await this.#process?.exited;
  }

  async end(): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Connections to come may make no file longer than this, as on a disk that is full. */
  async limitFiles(bytes: number | "unlimited"): Promise<void> {
    const limit = bytes === "unlimited" ? "unlimited" : `${bytes}:unlimited`;
    const set = Bun.spawn([
      ...asNobody,
      "prlimit",
      "--pid",
      String(this.#process!.pid),
      `--fsize=${limit}`,
    ]);
    if ((await set.exited) !== 0) throw new Error("The limit cannot be set");
  }

  get pid(): number {
    return this.#process!.pid;
  }

  /** Copies lines into a table by psql. */
  copy(table: string, lines: Uint8Array) {
    return Bun.spawn(
      [
        ...[`${programs()}/psql`, "-X", "-q", ...this.#socket],
        ...["-U", "postgres", "-c", `copy ${table} from stdin`],
      ],
      { env: {}, stdin: lines, stdout: "ignore", stderr: "inherit" },
    );
  }

  /** Runs a statement and returns its rows, with tabs between columns. */
  async ask(sql: string, database = "postgres"): Promise<string> {
    const asked = Bun.spawn(
      [
        ...[`${programs()}/psql`, "-X", "-q", "-A", "-t", "-F", "\t", "-v", "ON_ERROR_STOP=1"],
        ...[...this.#socket, "-U", "postgres", "-d", database, "-f", "-"],
      ],
      {
        env: { PATH: process.env.PATH ?? "" },
        stdin: Buffer.from(sql),
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    const [printed, failed] = await Promise.all([
      new Response(asked.stdout).text(),
      new Response(asked.stderr).text(),
    ]);
    if ((await asked.exited) !== 0) throw new Error(failed);
    return printed.trimEnd();
  }

  /** Rows of a query as objects. */
  async rows(query: string, database?: string): Promise<Record<string, unknown>[]> {
    // psql leaves out what it cannot print, such as U+10FFFE, so it prints base64.
    const json = `coalesce(json_agg("a row"), '[]')::text`;
    const all = `select encode(convert_to(${json}, 'UTF8'), 'base64') from (${query}) "a row"`;
    const text = Buffer.from(await this.ask(all, database), "base64").toString();
    return JSON.parse(text) as Record<string, unknown>[];
  }

  /** Where psql finds the server: at a socket whose users need no password. */
  get #socket(): string[] {
    return ["-h", this.directory, "-p", String(this.port)];
  }

  get #data(): string {
    return join(this.directory, "data");
  }

  async #prepare(): Promise<void> {
    const secret = join(this.directory, "password");
    writeFileSync(secret, this.password);
    for (const [name, text] of Object.entries(good)) {
      writeFileSync(join(this.directory, name), text);
      chmodSync(join(this.directory, name), 0o600);
    }
    if (asNobody.length > 0) {
      for (const path of [
        this.directory,
        ...["password", "key", "cert"].map((n) => join(this.directory, n)),
      ]) {
        chownSync(path, unprivilegedId, unprivilegedId);
      }
    }
    const options = [
      ...["-U", "postgres", "-N", "-E", "UTF8", "--locale=C", "--wal-segsize=1"],
      ...["--auth-host=scram-sha-256", "--auth-local=trust"],
    ];
    const kept = keptPath("postgres", programs(), options, this.password, process.getuid?.());
    if (existsSync(kept)) return copyFiles(kept, this.#data);
    const made = Bun.spawn(
      [...asNobody, `${programs()}/initdb`, "-D", this.#data, ...options, `--pwfile=${secret}`],
      { stdout: "ignore", stderr: "pipe", cwd: "/" },
    );
    if ((await made.exited) !== 0) throw new Error(await new Response(made.stderr).text());
    // It takes a second of CPU time: later servers begin with a copy.
    await keep(kept, (part) => copyFiles(this.#data, part));
  }
}

/** Copies a directory with the owners of its files. */
function copyFiles(from: string, to: string): void {
  const { exitCode, stderr } = Bun.spawnSync(["cp", "-a", from, to]);
  if (exitCode !== 0) throw new Error(stderr.toString());
}
