import { type FileHandle, lstat } from "node:fs/promises";
import { BRACE_OPEN } from "../../json/bytes.ts";
import { parsedJson } from "../../json/parsed-json.ts";
import { ageOf } from "../../observe/ages.ts";
import { DELIVERY_BYTES_MAX } from "../../settings/limits.ts";
import type { OutgoingEvent } from "../destination.ts";
import { jsonLines } from "../formats/json-lines.ts";
import type { FileConfig } from "./config.ts";
import { FILE_LINE_BYTES_MAX } from "./limits.ts";
import { deleteExpiredFiles, type FileRetention, rotateFile } from "./rotated-files.ts";
import { openSafely } from "./safe-path.ts";

const newline = 10;
const sectorBytes = 512;
/**
 * Number of bytes at the end of a file that are checked for zeros left by a power loss. Only the
 * last append can have such zeros, and it normally has fewer bytes. Zeros before these bytes stay
 * in the file.
 */
const checkedBytes = 2 * DELIVERY_BYTES_MAX;
/** Number of bytes that `lastLine` reads at a time, from the end of the file backwards. */
const stepBytes = 64 << 10;

/** Size and age at which a file is rotated, and the maximum number and age of rotated files. */
type FileRotation = FileRetention & Pick<FileConfig, "rotateBytes" | "rotateAgeMs">;

/**
 * File to which events are appended as JSON lines. An append is durable when its promise resolves.
 * A file that reaches the rotation size or age is renamed, and the next append creates a new file.
 */
export class JsonLinesFile {
  #handle: FileHandle | undefined;
  #size = 0;
  /** Creation time of the open file, on the clock of `performance.now()`. */
  #createdAt = 0;
  /** Timer that rotates the file at its rotation age, even when no event is appended. */
  #rotationTimer: Timer | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly root: string,
    readonly path: string,
  ) {}

  /**
   * Appends events to the file. Waits for earlier appends first. Rejects with file system errors.
   */
  append(events: readonly OutgoingEvent[], rotation: FileRotation = {}): Promise<void> {
    const appended = this.#last.then(async () => {
      await this.#append(events);
      await this.#rotate(rotation);
    });
    this.#last = appended.catch(() => {});
    return appended;
  }

  async close(): Promise<void> {
    clearTimeout(this.#rotationTimer);
    this.#rotationTimer = undefined;
    await this.#last;
    await this.#closeHandle();
  }

  async #append(events: readonly OutgoingEvent[]): Promise<void> {
    const handle = await this.#current();
    const lines = jsonLines(events);
    try {
      const { bytesWritten } = await handle.write(lines);
      if (bytesWritten < lines.length) throw Object.assign(new Error(), { code: "ENOSPC" });
      await handle.datasync();
      this.#size += lines.length;
    } catch (error) {
      // Part of a line may have been written. Truncating it makes the next append begin on a new
      // line.
      await handle.truncate(this.#size).catch(() => {});
      await this.#closeHandle();
      throw error;
    }
  }

  /**
   * Rotates the file if it has reached the rotation size or age. Never rejects: the events in the
   * file are durable, even if the rotation fails. A rotation that fails is tried again after a
   * later append.
   */
  async #rotate(rotation: FileRotation): Promise<void> {
    const { rotateBytes = Number.POSITIVE_INFINITY, rotateAgeMs } = rotation;
    const left = rotateAgeMs === undefined ? 1 : this.#createdAt + rotateAgeMs - performance.now();
    if (this.#size < rotateBytes && left > 0) {
      if (rotateAgeMs !== undefined) this.#rotateIn(Math.min(left, rotateAgeMs), rotation);
      return;
    }
    clearTimeout(this.#rotationTimer);
    this.#rotationTimer = undefined;
    try {
      await this.#closeHandle();
      await rotateFile(this.root, this.path);
      await deleteExpiredFiles(this.root, this.path, rotation);
    } catch {
      // The disk is full, or a file has the rotated name. The current file grows until this is
      // repaired.
    }
  }

  #rotateIn(ms: number, rotation: FileRotation): void {
    this.#rotationTimer ??= setTimeout(() => {
      this.#rotationTimer = undefined;
      this.#last = this.#last.then(async () => {
        if (this.#handle !== undefined && (await this.#isInPlace(this.#handle))) {
          await this.#rotate(rotation);
        }
      });
      this.#last = this.#last.catch(() => {});
    }, ms).unref();
  }

  /**
   * Returns the handle of the open file. If no file is open, or another program moved or changed
   * the open file, opens the file at the path. Creates this file if it is missing.
   */
  async #current(): Promise<FileHandle> {
    if (this.#handle !== undefined && !(await this.#isInPlace(this.#handle)))
      await this.#closeHandle();
    if (this.#handle !== undefined) return this.#handle;
    const handle = await openSafely(this.root, this.path);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) throw Object.assign(new Error(), { code: "EINVAL" });
      this.#size = await repairTail(handle);
      // Not every file system stores creation times.
      this.#createdAt =
        performance.now() - (this.#size === 0 ? 0 : ageOf(stat.birthtimeMs || stat.mtimeMs));
    } catch (error) {
      await handle.close();
      throw error;
    }
    this.#handle = handle;
    return handle;
  }

  async #isInPlace(handle: FileHandle): Promise<boolean> {
    const there = await lstat(`${this.root}/${this.path}`).catch(() => undefined);
    const mine = await handle.stat();
    return there?.ino === mine.ino && there.dev === mine.dev && mine.size === this.#size;
  }

  async #closeHandle(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}

/**
 * Makes the file end with a newline, and returns its size in bytes. Deletes the last line if it is
 * an incomplete JSON object, because its event was not acknowledged and will be delivered again.
 */
async function repairTail(handle: FileHandle): Promise<number> {
  const size = await truncateUnwritten(handle, (await handle.stat()).size);
  const line = await lastLine(handle, size);
  if (line?.length === 0) return size;
  if (line?.[0] === BRACE_OPEN && parsedJson(line.toString()) === undefined) {
    const whole = size - line.length;
    await handle.truncate(whole);
    return whole;
  }
  await handle.write(Buffer.from("\n"));
  return size + 1;
}

/**
 * Truncates a file before the first line with zeros left by a power loss, and returns the new size
 * in bytes. Such zeros end where a sector or the file ends. The truncated events will be delivered
 * again.
 */
async function truncateUnwritten(handle: FileHandle, size: number): Promise<number> {
  const from = Math.max(0, size - checkedBytes);
  const tail = Buffer.alloc(size - from);
  await handle.read(tail, 0, tail.length, from);
  const zero = tail.indexOf(0);
  if (zero < 0) return size;
  let end = zero;
  while (end < tail.length && tail[end] === 0) end += 1;
  if (end < tail.length && (from + end) % sectorBytes !== 0) return size;
  const whole = from + tail.lastIndexOf(newline, zero) + 1;
  await handle.truncate(whole);
  return whole;
}

/**
 * Returns the text after the last newline of a file of `size` bytes; undefined when the text is
 * longer than `FILE_LINE_BYTES_MAX`.
 */
async function lastLine(handle: FileHandle, size: number): Promise<Buffer | undefined> {
  const parts: Buffer[] = [];
  let from = size;
  while (from > 0) {
    if (size - from > FILE_LINE_BYTES_MAX) return undefined;
    const step = Buffer.alloc(Math.min(stepBytes, from));
    from -= step.length;
    await handle.read(step, 0, step.length, from);
    const start = step.lastIndexOf(newline) + 1;
    parts.unshift(step.subarray(start));
    if (start > 0) break;
  }
  return Buffer.concat(parts);
}
