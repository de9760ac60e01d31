import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readObject } from "../../src/backup/archive-source.ts";
import { type Bucket, openBucket } from "../../src/backup/bucket/bucket.ts";
import { upload } from "../../src/backup/bucket/upload.ts";
import { loadConfig } from "../../src/settings/reader.ts";
import { describeWith } from "../counterpart.ts";
import { S3Server, s3Missing } from "../destinations/s3/s3-server.ts";
import { pixelmillCommand } from "../e2e/command.ts";
import {
  pixel,
  removeDirectory,
  route,
  type Server,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";
import { freePort } from "../free-ports.ts";

const OTHERS = "site/one/pixelmill-2020-01-01T00-00-00Z-0123456789ab.tar.zst";
const OWN = /^site\/one\/pixelmill-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ-[0-9a-f]{12}\.tar\.zst$/;

describeWith(s3Missing)("backups in a bucket", () => {
  let s3: S3Server;
  let directory: string;
  let secretFile: string;
  beforeAll(async () => {
    s3 = await S3Server.start();
    directory = temporaryDirectory();
    secretFile = join(directory, "secret");
    writeFileSync(secretFile, `${s3.secretAccessKey}\n`);
  });
  afterAll(async () => {
    await s3.end();
    removeDirectory(directory);
  });

  const settings = (changes: Record<string, string> = {}) => ({
    PIXELMILL_BACKUP_S3_BUCKET: "lake",
    PIXELMILL_BACKUP_S3_ENDPOINT: s3.endpoint,
    PIXELMILL_BACKUP_S3_PREFIX: "site/one",
    PIXELMILL_BACKUP_S3_ACCESS_KEY: s3.accessKeyId,
    PIXELMILL_BACKUP_S3_SECRET_KEY_FILE: secretFile,
    ...changes,
  });

  async function pixelmill(args: string[], env: Record<string, string> = settings()) {
    const child = Bun.spawn([...pixelmillCommand, ...args], {
      cwd: directory,
      env,
      stdout: "pipe",
      stderr: "pipe",
    });
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { code: await child.exited, output, errors };
  }

  const start = (at: string, flags: string[] = []) =>
    startServer({
      directory: at,
      environment: settings(),
      flags: ["--backup-every=1", "--backup-keep=2", "--retry-window=3600", ...flags],
    });
  const made = (server: Server) => server.errors().split('"msg":"backup made"').length - 1;
  const moreBackups = async (server: Server, count: number) => {
    const before = made(server);
    await waitFor(() => made(server) >= before + count || undefined, `${count} backups`);
  };
  const ownKeys = async () => (await s3.keys()).filter((key) => OWN.test(key) && key !== OTHERS);

  test("a server whose data directory is lost is restored from its bucket, and misses nothing", async () => {
    await s3.client.write(OTHERS, "of another server");
    await s3.client.write("site/one/pixelmill-notes.txt", "mine");
    let down = true;
    const sink = startSink(() => (down ? 503 : 200));
    const original = temporaryDirectory();
    const server = await start(original);
    const code = "export const transformEvent = (event) => ({ ...event, through: 'code' });";
    const { writeKey } = await route(server, { url: sink.url, code });
    const ids = Array.from({ length: 20 }, (_, number) => `owed ${number}`);
    for (const id of ids) {
      const query = { writeKey, userId: "u", event: "Owed", "properties.id": id };
      expect((await pixel(server, "track", query)).status).toBe(200);
    }
    // The second one began after the last event.
    await moreBackups(server, 3);
    const metrics = await (await fetch(`${server.controlPlane}/metrics`)).text();
    expect(metrics).toMatch(/^pixelmill_backup_age_seconds{[^}]*} \d/m);
    expect(metrics).toMatch(/^pixelmill_backup_interval_seconds{[^}]*} 1$/m);
    expect(metrics).toMatch(/^pixelmill_backups_failed_total{[^}]*} 0$/m);
    expect(metrics).toMatch(/^pixelmill_backup_bytes{[^}]*} [1-9]/m);
    await server.stop("SIGKILL");
    removeDirectory(original);
    const kept = await ownKeys();
    expect(kept.length).toBeGreaterThanOrEqual(2);
    expect(kept.length).toBeLessThanOrEqual(3);

    const newest = `s3://lake/${kept.at(-1)}`;
    const checked = await pixelmill(["check", "backup", "s3://lake/site/one/"]);
    expect(checked).toEqual({
      code: 0,
      output: `ok    backup ${newest}: workspaces: 1, events in the log: 20, dead letters: 0\n`,
      errors: "",
    });
    const copied = temporaryDirectory();
    const data = join(copied, "data");
    const restored = await pixelmill(["restore", "s3://lake/site/one/", "--data", data]);
    expect(restored).toMatchObject({ code: 0, errors: "" });
    expect(restored.output).toStartWith(`restored ${data} from ${newest}: workspaces: 1`);
    down = false;
    const copy = await start(copied);
    await waitFor(() => sink.events.length >= ids.length || undefined, "the owed events");
    const arrived = sink.events.map(({ properties, through }) => [properties.id, through]);
    expect(arrived).toEqual(ids.map((id) => [id, "code"]));
    // The copy deletes its own backups alone.
    await moreBackups(copy, 3);
    await copy.stop();
    const after = await ownKeys();
    expect(after).toEqual(expect.arrayContaining(kept));
    expect(after.length - kept.length).toBe(2);
    expect(await s3.keys()).toEqual(
      expect.arrayContaining([OTHERS, "site/one/pixelmill-notes.txt"]),
    );
    sink.stop();
    removeDirectory(copied);
  }, 300_000);

  test("the rules for addresses of tenants do not concern the store of backups", async () => {
    const at = temporaryDirectory();
    const server = await start(at, ["--egress-allow=10.0.0.0/8"]);
    await moreBackups(server, 1);
    await server.stop();
    removeDirectory(at);
  }, 300_000);

  test("each failure names the bucket, the reason and what to do", async () => {
    const data = ["--data", join(directory, "data")];
    expect((await pixelmill(["workspace", "create", "One", ...data], {})).code).toBe(0);
    const wrong = join(directory, "wrong");
    writeFileSync(wrong, "wrong");
    const closed = `http://127.0.0.1:${await freePort()}`;
    const place = `in the bucket lake of ${s3.endpoint}`;
    const backup = ["backup", "s3://lake/one.tar.zst", ...data];
    const restore = (url: string) => ["restore", url, "--data", join(directory, "new")];
    expect(await pixelmill(backup)).toMatchObject({ code: 0, errors: "" });
    const cases: [string[], Record<string, string>, string][] = [
      [backup, settings(), "Expected a new object, but s3://lake/one.tar.zst exists"],
      [
        backup,
        settings({ PIXELMILL_BACKUP_S3_SECRET_KEY_FILE: wrong }),
        `Cannot list the backups ${place}: The secret access key does not fit the access key (403 SignatureDoesNotMatch); check backup.s3.access.key and backup.s3.secret.key`,
      ],
      [
        ["backup", "s3://pond/one.tar.zst", ...data],
        settings(),
        `Cannot list the backups in the bucket pond of ${s3.endpoint}: The bucket does not exist (404 NoSuchBucket); create it, or change backup.s3.bucket`,
      ],
      [
        restore("s3://lake/site/one/"),
        settings({ PIXELMILL_BACKUP_S3_ENDPOINT: closed }),
        `Cannot list the backups in the bucket lake of ${closed}: The request failed: connection refused (ECONNREFUSED); check backup.s3.endpoint and backup.s3.region`,
      ],
      [
        restore("s3://lake/none.tar.zst"),
        settings(),
        `Cannot read none.tar.zst ${place}: The store refuses (404); s3://BUCKET/PREFIX/ names the newest backup`,
      ],
      [
        restore("s3://lake/site/two/"),
        settings(),
        "Expected a backup pixelmill-TIME.tar.zst below s3://lake/site/two/, got none",
      ],
      [restore("s3://lake/site/one"), settings(), "Cannot read site/one in the bucket lake"],
      [
        restore("s3://LAKE"),
        settings(),
        "Expected s3://BUCKET/KEY, or s3://BUCKET/PREFIX/ for the newest backup, got s3://LAKE",
      ],
      [
        ["check", "backup", "s3://lake/site/one/"],
        {},
        "Expected the setting backup.s3.access.key for the bucket lake",
      ],
    ];
    for (const [args, env, message] of cases) {
      const { code, errors } = await pixelmill(args, env);
      expect({ args, code, errors }).toEqual({
        ...{ args, code: 1 },
        errors: expect.stringContaining(`pixelmill: ${message}`),
      });
    }
  }, 300_000);

  test.each([
    [{ "backup.directory": "/tmp/x" }, "Expected one of backup.directory and backup.s3.bucket"],
    [{ "backup.s3.bucket": "No" }, "Setting backup.s3.bucket does not fit: Expected the name of"],
    [{ "backup.s3.endpoint": "lake.example" }, "Setting backup.s3.endpoint does not fit: Exp"],
    [{ "backup.s3.prefix": "/a" }, "Setting backup.s3.prefix does not fit: Expected letters"],
    [{ "backup.s3.ca": "/none" }, "Cannot read the file /none of backup.s3.ca: "],
  ])(
    "a server with the settings %j does not start",
    async (changes, message) => {
      const flags = Object.entries(changes).map(
        ([key, value]) => `--${key.replaceAll(".", "-")}=${value}`,
      );
      const at = temporaryDirectory();
      const ports = ["--port=0", "--admin-port=0", "--data", join(at, "data")];
      const ended = await pixelmill(["serve", "--backup-every=60", ...ports, ...flags]);
      expect(ended.code).toBe(1);
      expect(ended.errors).toContain(`pixelmill: ${message}`);
      removeDirectory(at);
    },
    300_000,
  );

  describe("objects in parts", () => {
    let bucket: Bucket;
    beforeAll(() => {
      bucket = openBucket(loadConfig({}, settings()), "lake");
    });
    afterAll(() => bucket.close());

    const openUploads = async () => {
      const query = new URLSearchParams({ uploads: "" });
      const about = { purpose: "look", permission: "none", method: "GET" as const, key: "" };
      const { body } = await bucket.send({ ...about, query, answerBytesMax: 1 << 20 });
      return Buffer.from(body).toString().split("<UploadId>").length - 1;
    };

    test("a file of several parts is written and read back", async () => {
      const path = join(directory, "long");
      writeFileSync(path, randomBytes(35_000_000));
      await upload(bucket, path, "long");
      const digest = new Bun.CryptoHasher("sha256");
      let parts = 0;
      for await (const part of readObject(bucket, "long")) {
        digest.update(part);
        parts++;
      }
      expect(parts).toBe(3);
      expect(digest.digest("hex")).toBe(
        new Bun.CryptoHasher("sha256").update(readFileSync(path)).digest("hex"),
      );
      expect(await openUploads()).toBe(0);
      rmSync(path);
    }, 300_000);

    test("unfinished uploads of earlier backups are ended, and uploads of other programs stay", async () => {
      const begin = (key: string) =>
        bucket.send({
          ...{ purpose: "begin", permission: "none", method: "POST", key },
          query: new URLSearchParams({ uploads: "" }),
        });
      for (const key of ["left/own-1", "left/own-2", "left/other"]) await begin(key);
      await bucket.abortUploads("left/", (key) => key.startsWith("left/own-"));
      expect(await openUploads()).toBe(1);
      await bucket.abortUploads("left/", () => true);
      expect(await openUploads()).toBe(0);
    }, 300_000);

    test("an object that changes while it is read is an error", async () => {
      const path = join(directory, "changing");
      writeFileSync(path, randomBytes(20_000_000));
      await upload(bucket, path, "changing");
      const parts = readObject(bucket, "changing");
      await parts.next();
      writeFileSync(path, randomBytes(20_000_000));
      await upload(bucket, path, "changing");
      await expect(parts.next()).rejects.toThrow("Cannot read changing in the bucket lake");
      rmSync(path);
    }, 300_000);
  });
});
