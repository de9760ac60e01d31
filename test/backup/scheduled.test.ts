import {
  afterEach,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  setSystemTime,
  spyOn,
  test,
} from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { rootCertificates } from "node:tls";
import { Registry } from "prom-client";
import { backupName } from "../../src/backup/backup-name.ts";
import { backupTarget } from "../../src/backup/backup-target.ts";
import { authoritiesOf, bucketConfig } from "../../src/backup/bucket/bucket-config.ts";
import { startBackups } from "../../src/backup/scheduled-backups.ts";
import { readSettings } from "../../src/settings/reader.ts";
import { listeningLogger, quiet, until } from "../log/support.ts";
import { passTime } from "../pass-time.ts";
import { holds } from "../until.ts";

const HOUR_MS = 3_600_000;
/** Id of a process that does not exist. */
const NO_PROCESS = 2 ** 30;

let root: string;
let directory: string;
let stop = async () => {};
let spawn: ReturnType<typeof spyOn>;
/** How the processes that make backups end: exit code and error output, or not by themselves. */
let ending: { code: number; errors: string } | undefined;
let commands: string[][];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "pixelmill-scheduled-"));
  directory = join(root, "backups");
  mkdirSync(join(root, "data"));
  ending = { code: 0, errors: "" };
  commands = [];
  spawn = spyOn(Bun, "spawn").mockImplementation(((command: string[]) => {
    commands.push(command);
    const place = command[command.indexOf("backup") + 1]!;
    const exited = Promise.withResolvers<number>();
    const errors = Promise.withResolvers<string>();
    const end = (code: number, text: string) => {
      if (code === 0) writeFileSync(place, "a backup");
      errors.resolve(text);
      exited.resolve(code);
    };
    if (ending !== undefined) end(ending.code, ending.errors);
    return {
      pid: NO_PROCESS,
      exited: exited.promise,
      stderr: new ReadableStream({
        async start(controller) {
          controller.enqueue(Buffer.from(await errors.promise));
          controller.close();
        },
      }),
      kill: () => end(143, ""),
    };
  }) as never);
});
afterEach(async () => {
  await stop();
  spawn.mockRestore();
  setSystemTime();
  rmSync(root, { recursive: true });
});

const configOf = (flags: Record<string, string>) =>
  readSettings({ data: join(root, "data"), ...flags }, {}).config;

function start(flags: Record<string, string> = {}) {
  const { logger, lines } = listeningLogger();
  const metrics = new Registry();
  const config = configOf({
    ...{ "backup-directory": directory, "backup-every": "3600", "backup-keep": "2" },
    ...flags,
  });
  const backups = startBackups(config, { logger, metrics })!;
  stop = () => backups.stop();
  return {
    ...{ backups, lines },
    async metric(name: string) {
      const { values } = await metrics.getSingleMetric(`pixelmill_${name}`)!.get();
      return values[0]!.value;
    },
  };
}

/**
 * As `start`; `look` runs the latest timer now, and returns the milliseconds that it would wait.
 */
function watched(flags: Record<string, string> = {}) {
  const timers = spyOn(globalThis, "setTimeout");
  onTestFinished(() => timers.mockRestore());
  const look = () => {
    const [run, ms] = timers.mock.calls.findLast(([, ms = 0]) => ms > 1_000)!;
    (run as () => void)();
    return ms!;
  };
  return { ...start(flags), look };
}

/** Puts a backup into the directory that began some milliseconds ago. */
function earlier(ms: number, content = "earlier"): string {
  mkdirSync(directory, { recursive: true });
  const name = backupName(Date.now() - ms);
  writeFileSync(join(directory, name), content);
  return name;
}

describe("a server that makes backups", () => {
  test("makes one at the start, keeps the newest, and reports its age and size", async () => {
    const [oldest, older] = [earlier(3 * HOUR_MS), earlier(2 * HOUR_MS)];
    const { backups, lines, metric } = start();
    await until(() => lines.length > 0);
    expect(lines).toMatchObject([{ level: 30, msg: "backup made", bytes: 8 }]);
    const names = readdirSync(directory).sort();
    expect(names).toHaveLength(2);
    expect(names).toContain(older);
    expect(names).not.toContain(oldest);
    const place = join(directory, names.at(-1)!);
    expect(commands[0]!.slice(-6)).toEqual([
      ...["backup", place, "--data", join(root, "data"), "--config", "/dev/null"],
    ]);
    expect(backups.warnings()).toEqual([]);
    expect(await metric("backup_bytes")).toBe(8);
    expect(await metric("backup_interval_seconds")).toBe(3_600);
    expect(await metric("backups_failed_total")).toBe(0);
    expect(await metric("backup_age_seconds")).toBeLessThan(600);
  });

  test("waits until the newest one is old enough", async () => {
    earlier(HOUR_MS / 2);
    const { metric } = start();
    await until(async () => (await metric("backup_bytes")) > 0);
    expect(await metric("backup_age_seconds")).toBeGreaterThanOrEqual(1_800);
    await holds(5, () => expect(commands).toEqual([]));
  });

  test("makes one beside one of the future, which is the first to be deleted", async () => {
    const [future, older] = [earlier(-9_000 * HOUR_MS), earlier(2 * HOUR_MS)];
    const { lines, metric } = start();
    await until(() => lines.length > 0);
    expect(lines).toMatchObject([{ msg: "backup made" }]);
    const names = readdirSync(directory);
    expect(names).toHaveLength(2);
    expect(names).toContain(older);
    expect(names).not.toContain(future);
    expect(await metric("backup_bytes")).toBe(8);
  });

  test("makes the next one in time after the clock was set back", async () => {
    setSystemTime(Date.now() + 9_000 * HOUR_MS);
    const { backups, lines } = start({ "backup-every": "1" });
    await until(() => lines.length > 0);
    setSystemTime();
    await until(() => lines.length > 1);
    expect(lines.every(({ msg }) => msg === "backup made")).toBe(true);
    passTime(HOUR_MS);
    expect(backups.warnings()).toEqual(["No backup for 1 h: the next one is due or runs"]);
  });

  test("counts nothing as late while the clock is ahead", async () => {
    const { backups, lines, metric } = start();
    await until(() => lines.length > 0);
    setSystemTime(Date.now() + 9_000 * HOUR_MS);
    expect(backups.warnings()).toEqual([]);
    expect(await metric("backup_age_seconds")).toBeLessThan(3_600);
  });

  test("warns when none was made for two intervals", async () => {
    earlier(HOUR_MS / 2);
    const { backups, metric } = start();
    await until(async () => (await metric("backup_bytes")) > 0);
    passTime(1.4 * HOUR_MS);
    expect(backups.warnings()).toEqual([]);
    passTime(0.2 * HOUR_MS);
    expect(backups.warnings()).toEqual(["No backup for 2.1 h: the next one is due or runs"]);
    expect(await metric("backup_age_seconds")).toBeGreaterThan(2 * 3_600);
  });

  test("looks at the clock every hour at most, and makes the next when the interval is over", async () => {
    const now = Date.now();
    setSystemTime(now);
    const { lines, look } = watched({ "backup-every": "5400" });
    await until(() => lines.length === 1);
    setSystemTime(now + HOUR_MS);
    expect([look(), look()]).toEqual([HOUR_MS, HOUR_MS / 2]);
    setSystemTime(now + 1.5 * HOUR_MS);
    look();
    await until(() => lines.length === 2);
    expect(commands).toHaveLength(2);
  });

  test("tries again after a failure, later each time, and in ten minutes at most", async () => {
    setSystemTime(Date.now());
    ending = { code: 1, errors: "No space" };
    const { lines, look } = watched();
    const waits: number[] = [];
    for (let failures = 1; failures <= 11; failures++) {
      await until(() => lines.length === failures);
      setSystemTime(Date.now() + 600_000);
      waits.push(look());
    }
    expect(waits).toEqual([
      ...Array.from({ length: 9 }, (_, n) => 2_000 * 2 ** n),
      600_000,
      600_000,
    ]);
  });

  test("says why one failed, and counts it", async () => {
    ending = { code: 1, errors: `${"x".repeat(3_000)} No space\n` };
    const { lines, metric } = start();
    await until(() => lines.length > 0);
    expect(lines[0]).toMatchObject({ level: 50, msg: "backup failed" });
    expect(lines[0]!.reason).toHaveLength(2_000);
    expect(lines[0]!.reason).toEndWith("x No space");
    expect(await metric("backups_failed_total")).toBe(1);
    expect(await metric("backup_bytes")).toBe(0);
  });

  test("says that its process was killed when it said nothing", async () => {
    ending = { code: 137, errors: "" };
    const { lines } = start();
    await until(() => lines.length > 0);
    expect(lines).toMatchObject([{ reason: "the process was killed" }]);
  });

  test("ends the one in progress at the stop, and makes no more", async () => {
    ending = undefined;
    const { lines, metric } = start();
    await until(() => commands.length > 0);
    await stop();
    expect(lines).toEqual([]);
    expect(await metric("backups_failed_total")).toBe(0);
    expect(commands).toHaveLength(1);
  });

  test("removes what an interrupted one left behind", async () => {
    const { lines } = start();
    const left = join(directory, `.${backupName(Date.now())}.${NO_PROCESS}`);
    mkdirSync(left);
    await until(() => lines.length > 0);
    expect(existsSync(left)).toBe(false);
  });
});

describe("settings of backups", () => {
  const parts = { logger: quiet, metrics: new Registry() };

  test("make none without an interval", () => {
    expect(startBackups(configOf({ "backup-directory": directory }), parts)).toBeUndefined();
  });

  const faults: [flags: Record<string, string>, message: string][] = [
    [{}, "Expected the setting backup.directory or backup.s3.bucket beside backup.every"],
    [
      { "backup-directory": "/backups", "backup-s3-bucket": "lake" },
      "Expected one of backup.directory and backup.s3.bucket, got both",
    ],
    [{ "cluster-kafka": "127.0.0.1:9092" }, "Expected no backup.every on a node"],
    [
      { "backup-s3-bucket": "lake" },
      "Expected the setting backup.s3.access.key for the bucket lake",
    ],
    [
      { "backup-s3-bucket": "lake", "backup-s3-access-key": "a" },
      "Expected the setting backup.s3.secret.key for the bucket lake",
    ],
  ];
  test.each(faults)("are refused: %j", (flags, message) => {
    const config = configOf({ "backup-every": "3600", ...flags });
    expect(() => startBackups(config, parts)).toThrow(message);
  });

  const bucket = {
    "backup-s3-access-key": "key",
    "backup-s3-secret-key": "secret",
    "backup-s3-endpoint": "http://127.0.0.1:9000",
    "backup-s3-prefix": "a",
    "backup-s3-path-style": "true",
  };

  test("name a bucket, with a request's longest time and without what is not set", () => {
    expect(bucketConfig(configOf(bucket), "lake")).toMatchObject({
      ...{ bucket: "lake", endpoint: "http://127.0.0.1:9000", prefix: "a", pathStyle: true },
      ...{ accessKeyId: "key", secretAccessKey: "secret" },
    });
    const { "backup-s3-endpoint": _, ...others } = bucket;
    expect(bucketConfig(configOf(others), "lake")).not.toHaveProperty("endpoint");
  });

  test("that do not fit are named", () => {
    const prefix = configOf({ ...bucket, "backup-s3-prefix": "a/" });
    expect(() => bucketConfig(prefix, "lake")).toThrow("Setting backup.s3.prefix does not fit");
  });

  test("name the file of the authorities that sign the store's certificate", () => {
    const ca = join(root, "ca.pem");
    writeFileSync(ca, "certificate");
    expect(authoritiesOf(configOf({}))).toBeUndefined();
    expect(authoritiesOf(configOf({ "backup-s3-ca": ca }))).toBe("certificate");
  });

  test("go to the process that makes a backup in a bucket, whose name has the data directory's id", () => {
    const { logger, lines } = listeningLogger();
    const ca = join(root, "authorities.pem");
    writeFileSync(ca, rootCertificates[0]!);
    const config = configOf({
      ...bucket,
      "backup-s3-bucket": "lake",
      "backup-s3-ca": relative(process.cwd(), ca),
      "egress-resolver": "1.1.1.1",
    });
    const target = backupTarget(config, logger);
    expect(lines).toMatchObject([{ level: 40, endpoint: "http://127.0.0.1:9000" }]);
    lines.length = 0;
    const secured = configOf({
      ...{ ...bucket, "backup-s3-bucket": "lake" },
      "backup-s3-endpoint": "https://store.test",
    });
    backupTarget(secured, logger).close();
    expect(lines).toEqual([]);
    expect(target.environment).toEqual({
      PIXELMILL_BACKUP_S3_BUCKET: "lake",
      // That process has another working directory.
      PIXELMILL_BACKUP_S3_CA: ca,
      PIXELMILL_BACKUP_S3_ACCESS_KEY: "key",
      PIXELMILL_BACKUP_S3_SECRET_KEY: "secret",
      PIXELMILL_BACKUP_S3_ENDPOINT: "http://127.0.0.1:9000",
      PIXELMILL_BACKUP_S3_PREFIX: "a",
      PIXELMILL_BACKUP_S3_PATH_STYLE: "true",
      PIXELMILL_EGRESS_RESOLVER: "1.1.1.1",
      ...(config["backup.s3.region"] && { PIXELMILL_BACKUP_S3_REGION: config["backup.s3.region"] }),
    });
    const at = Date.UTC(2026, 0, 2, 3, 4, 5);
    const place = target.placeOf(at);
    expect(place).toMatch(
      /^s3:\/\/lake\/a\/pixelmill-2026-01-02T03-04-05Z-[0-9a-f]{12}\.tar\.zst$/,
    );
    target.close();
    const again = backupTarget(config, quiet);
    expect(again.placeOf(at)).toBe(place);
    again.close();
  });
});
