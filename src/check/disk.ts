import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { messageOf } from "../errors.ts";
import {
  catalogDirectory,
  deliveryDirectory,
  expectDataDirectory,
  expectFittingDirectory,
  formatFile,
} from "../first-start/data-directory.ts";
import type { Config } from "../settings/keys.ts";
import { expectIntact } from "../store/lmdb/store-files.ts";
import { type CheckResult, okOrWarns } from "./check-result.ts";

const FREE_BYTES_MIN = 2 ** 31;
const GIB = 2 ** 30;
/**
 * Number of writes that the check of the disk's speed measures. Each write has the size of a small
 * flush of the event log.
 */
const WRITES = 200;
const WRITE_BYTES = 4_096;
/**
 * Median time of a durable write, in milliseconds, above which the check warns. The answer to each
 * pixel waits for such a write, and a pixel should take no longer than the other images of a page.
 */
const SLOW_MS = 10;

export async function* checkDisk(config: Config): AsyncGenerator<CheckResult> {
  const data = resolve(config.data);
  let made: string | undefined;
  try {
    // Path of the first directory that was missing. A start creates directories with the same mode.
    made = mkdirSync(data, { recursive: true, mode: 0o700 });
    accessSync(data, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const detail = `Cannot use ${data}: ${messageOf(error)}`;
    yield { state: "fails", subject: "data", detail };
    return;
  }
  try {
    yield checkDataDirectory(config, data, made !== undefined);
    yield checkFreeSpace(data);
    yield checkWriteLatency(data);
    yield await checkStoreLibrary();
  } finally {
    if (made !== undefined) removeDirectories(data, made);
  }
}

/** Removes the empty directory `last`, and the directories above it up to and including `first`. */
function removeDirectories(last: string, first: string): void {
  rmdirSync(last);
  if (last !== first) removeDirectories(dirname(last), first);
}

function checkDataDirectory(config: Config, data: string, isNew: boolean): CheckResult {
  if (isNew) return { state: "ok", subject: "data", detail: `${data} would be made` };
  if (!existsSync(formatFile(config))) {
    return { state: "ok", subject: "data", detail: `${data} has no data of pixelmill yet` };
  }
  try {
    expectDataDirectory(config);
    expectFittingDirectory(config);
    if (existsSync(catalogDirectory(config))) {
      expectIntact(join(catalogDirectory(config), "catalog.mdb"));
      expectIntact(deliveryDirectory(config));
    }
    return { state: "ok", subject: "data", detail: `${data} is a data directory of this version` };
  } catch (error) {
    return { state: "fails", subject: "data", detail: messageOf(error) };
  }
}

function checkFreeSpace(data: string): CheckResult {
  const { bavail, bsize } = statfsSync(data);
  const free = bavail * bsize;
  const detail = `${(free / GIB).toFixed(1)} GiB free, ${fileSystemOf(data, readFileSync("/proc/self/mounts", "utf8"))}`;
  const advice = "a full disk refuses events with 503";
  return okOrWarns(free >= FREE_BYTES_MIN, { subject: "disk space", detail, advice });
}

/**
 * Returns the type of the file system that contains a path, such as `ext4`. `mounts` is the text of
 * `/proc/self/mounts`. If several file systems have the same mount point, the one mounted last
 * counts.
 */
export function fileSystemOf(path: string, mounts: string): string {
  const above = mounts
    .trim()
    .split("\n")
    .map((line) => line.split(" ").map(withoutEscapes))
    .filter(([, point = ""]) => `${path}/`.startsWith(point === "/" ? "/" : `${point}/`))
    .sort(([, a = ""], [, b = ""]) => a.length - b.length);
  return above.at(-1)?.[2] ?? "an unknown file system";
}

/** Replaces octal escapes such as `\040` in a field of `/proc/self/mounts` by their characters. */
function withoutEscapes(field: string): string {
  return field.replace(/\\([0-7]{3})/g, (_, digits) =>
    String.fromCharCode(Number.parseInt(digits, 8)),
  );
}

/**
 * Measures the time of durable writes to the data directory, made one after another as in the event
 * log.
 */
function checkWriteLatency(data: string): CheckResult {
  const path = join(data, `.check-${process.pid}`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_DSYNC;
  const times: number[] = [];
  try {
    const file = openSync(path, flags, 0o600);
    const bytes = Buffer.alloc(WRITE_BYTES, 1);
    for (let i = 0; i < WRITES; i++) {
      const startedAt = performance.now();
      writeSync(file, bytes);
      times.push(performance.now() - startedAt);
    }
    closeSync(file);
  } catch (error) {
    return { state: "fails", subject: "disk speed", detail: `Cannot write: ${messageOf(error)}` };
  } finally {
    rmSync(path, { force: true });
  }
  times.sort((a, b) => a - b);
  const [half, most] = [times[WRITES / 2]!, times[Math.floor(WRITES * 0.99)]!];
  const detail = `a durable write takes ${half.toFixed(2)} ms, 1 % take ${most.toFixed(1)} ms or more`;
  const advice = "each event waits for such a write";
  return okOrWarns(half <= SLOW_MS, { subject: "disk speed", detail, advice });
}

/**
 * Checks that the LMDB library can be loaded. The executable unpacks the library into the temporary
 * directory, which must be writable and allow executing files.
 */
async function checkStoreLibrary(): Promise<CheckResult> {
  try {
    await import("../store/lmdb/environment.ts");
    return { state: "ok", subject: "store", detail: "LMDB can be loaded" };
  } catch (error) {
    const detail = `${messageOf(error)}; TMPDIR has to be writable and to allow executing`;
    return { state: "fails", subject: "store", detail };
  }
}
