import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { S3Client } from "bun";
import type { Missing } from "../../counterpart.ts";
import { freePort } from "../../free-ports.ts";

/** Where `.ci/run` puts what it builds. */
const built = join(homedir(), ".cache/pixelmill/bin/versitygw");
const program = Bun.which("versitygw") ?? (existsSync(built) ? built : undefined);

export const s3Missing: Missing = program !== undefined ? undefined : "versitygw not installed";

/** A real S3 server of its own (versitygw), on loopback, with a bucket `lake`. */
export class S3Server {
  readonly directory = mkdtempSync(join(tmpdir(), "pixelmill-test-s3-"));
  readonly accessKeyId = "pixelmill";
  readonly secretAccessKey = "it's a secret/+=";
  port = 0;
  #process: Bun.Subprocess | undefined;

  /** `directory`: where its buckets are, when not in a directory of its own. */
  static async start(buckets?: string): Promise<S3Server> {
    const server = new S3Server(buckets);
    mkdirSync(join(server.buckets, "lake"), { recursive: true });
    await server.run();
    return server;
  }

  readonly buckets: string;

  constructor(buckets?: string) {
    this.buckets = buckets ?? join(this.directory, "buckets");
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#process!.pid;
  }

  /** The keys of a destination's config for this server. */
  get config() {
    const { endpoint, accessKeyId, secretAccessKey } = this;
    return { endpoint, accessKeyId, secretAccessKey, bucket: "lake", batchAgeMs: 100 };
  }

  /** Another client of S3, Bun's own: what it reads is there for others too. */
  get client(): S3Client {
    return new S3Client({ ...this.config, region: "us-east-1" });
  }

  /** Runs the server on its port, until it answers. */
  async run(secret = this.secretAccessKey): Promise<void> {
    if (this.port === 0) this.port = await freePort();
    this.#process = Bun.spawn(
      [
        ...[program!, "--port", `127.0.0.1:${this.port}`, "--quiet", "--keep-alive"],
        ...["posix", "--sidecar", this.#place("sidecar"), this.buckets],
      ],
      {
        stdout: "ignore",
        stderr: Bun.file(join(this.directory, "log")),
        env: { ...process.env, ROOT_ACCESS_KEY: this.accessKeyId, ROOT_SECRET_KEY: secret },
      },
    );
    for (let tries = 0; tries < 2_400 && this.#process.exitCode === null; tries++) {
      const answer = await fetch(this.endpoint, { keepalive: false }).catch(() => undefined);
      if (answer !== undefined) return;
      await Bun.sleep(50);
    }
    throw new Error(`versitygw does not start: ${await Bun.file(this.#place("log")).text()}`);
  }

  /** Ends it as a crash does; its objects stay. */
  async kill(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.exited;
  }

  /** Keys of all objects, ascending. */
  async keys(): Promise<string[]> {
    const keys: string[] = [];
    for (;;) {
      const startAfter = keys.at(-1);
      const page = await this.client.list(startAfter === undefined ? {} : { startAfter });
      for (const { key } of page.contents ?? []) keys.push(key);
      if (!page.isTruncated) return keys;
    }
  }

  async bytes(key: string): Promise<Uint8Array> {
    return new Uint8Array(await this.client.file(key).arrayBuffer());
  }

  async end(): Promise<void> {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  #place(name: string): string {
    const place = join(this.directory, name);
    if (name === "sidecar") mkdirSync(place, { recursive: true });
    return place;
  }
}
