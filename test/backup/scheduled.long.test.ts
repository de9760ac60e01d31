import { expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runPixelmill } from "../e2e/command.ts";
import {
  pixel,
  removeDirectory,
  route,
  startServer,
  startSink,
  temporaryDirectory,
  waitFor,
} from "../e2e/server.ts";

const BACKUP = /^pixelmill-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.tar\.zst$/;

const metricOf = async (url: string, name: string) => {
  const text = await (await fetch(`${url}/metrics`)).text();
  return Number(new RegExp(`^${name}{[^}]*} (\\S+)$`, "m").exec(text)?.[1]);
};

test("a server makes backups by itself, keeps the newest, and they can be restored", async () => {
  const directory = temporaryDirectory();
  const backups = join(directory, "backups");
  const flags = ["--backup-every=1", "--backup-keep=2", `--backup-directory=${backups}`];
  mkdirSync(backups);
  // A file of another name stays. A directory that a killed backup left, and old backups, go.
  writeFileSync(join(backups, "notes.txt"), "mine");
  mkdirSync(join(backups, ".pixelmill-2020-01-01T00-00-00Z.tar.zst.999999999"));
  writeFileSync(join(backups, "pixelmill-2020-01-01T00-00-00Z.tar.zst"), "oldest");
  const sink = startSink(() => 503);
  const server = await startServer({ directory, flags });
  const { writeKey } = await route(server, { url: sink.url });
  const sent = await pixel(server, "track", { writeKey, event: "Owed", userId: "u" });
  expect(sent.status).toBe(200);
  const made = () => server.errors().split('"msg":"backup made"').length - 1;
  const before = made();
  await waitFor(() => made() >= before + 3 || undefined, "three backups");
  expect(
    await metricOf(server.controlPlane, "pixelmill_backup_age_seconds"),
  ).toBeGreaterThanOrEqual(0);
  expect(await metricOf(server.controlPlane, "pixelmill_backup_bytes")).toBeGreaterThan(0);
  expect(await metricOf(server.controlPlane, "pixelmill_backups_failed_total")).toBe(0);
  await server.stop();
  const names = readdirSync(backups).sort();
  const kept = names.filter((name) => BACKUP.test(name));
  expect(names).toEqual(["notes.txt", ...kept]);
  expect(kept).toHaveLength(2);

  const newest = join(backups, kept.at(-1)!);
  expect(statSync(newest).mode & 0o777).toBe(0o600);
  const checked = await runPixelmill(["check", "backup", newest]);
  expect(checked).toEqual({
    code: 0,
    output: `ok    backup ${newest}: workspaces: 1, events in the log: 1, dead letters: 0\n`,
    errors: "",
  });
  const restored = join(directory, "restored");
  expect((await runPixelmill(["restore", newest, "--data", restored])).code).toBe(0);

  truncateSync(newest, 1_000);
  const torn = await runPixelmill(["check", "backup", newest]);
  expect(torn.code).toBe(1);
  expect(torn.errors).toBe(`pixelmill: The backup ${newest} is incomplete: it ends too early\n`);
  sink.stop();
  removeDirectory(directory);
}, 300_000);

test("a server whose backups fail says so in its log, its metrics and its readiness", async () => {
  const directory = temporaryDirectory();
  const backups = join(directory, "backups");
  mkdirSync(backups);
  const flags = ["--backup-every=1", `--backup-directory=${backups}`];
  const server = await startServer({ directory, flags });
  removeDirectory(backups);
  writeFileSync(backups, "no directory");
  chmodSync(backups, 0o400);
  await waitFor(async () => {
    const { body } = await server.api("GET", "/ready");
    return /^No backup for [\d.]+ h: the log says why/.test(body.warnings[0] ?? "") || undefined;
  }, "a warning");
  await waitFor(
    async () => server.errors().includes('"msg":"backup failed"') || undefined,
    "a line about the failure",
  );
  expect(await metricOf(server.controlPlane, "pixelmill_backups_failed_total")).toBeGreaterThan(0);
  expect(await server.stop()).toBe(0);
  removeDirectory(directory);
}, 300_000);

test.each([
  [
    ["--backup-every=60"],
    "Expected the setting backup.directory or backup.s3.bucket beside backup.every",
  ],
  [["--backup-every=60", "--backup-directory=/dev/null/x"], "Cannot use backup.directory"],
])("settings %j end the start", async (flags, message) => {
  const directory = temporaryDirectory();
  const ports = ["--port=0", "--admin-port=0", "--data", join(directory, "data")];
  const { code, errors } = await runPixelmill(["serve", ...ports, ...(flags as string[])]);
  expect(code).toBe(1);
  expect(errors).toContain(`pixelmill: ${message}`);
  removeDirectory(directory);
});
