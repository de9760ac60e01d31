import { type FileHandle, lstat } from "node:fs/promises";
import { DELIVERY_BYTES_MAX } from "../../settings/limits.ts";
import type { OutgoingEvent } from "../destination.ts";
import { jsonLines } from "../formats/json-lines.ts";
import { FILE_LINE_BYTES_MAX } from "./limits.ts";
import { deleteExpiredFiles, type FileRetention, rotateFile } from "./rotated-files.ts";
import { openSafely } from "./safe-path.ts";

const newline = 10;
const brace = 0x7b;
const sectorBytes = 512;
/** Bytes of the last append that are searched for unwritten sectors: a batch and its last event. */
const unwrittenBytesMax = 2 * DELIVERY_BYTES_MAX;
/** Bytes that are read at once of a last line. */
const stepBytes = 64 << 10;

/** When a file ends, and how long ended files are kept. */
export interface FileRotation extends FileRetention {
  rotateBytes?: number | undefined;
  rotateAgeMs?: number | undefined;
}

/**
 * A file of JSON lines that grows: one write per append, flushed before it resolves. A file that is
 * large or old enough ends: it gets a name of its own, and the next append begins another.
 */
export class JsonLinesFile {
  #handle: FileHandle | undefined;
  #size = 0;
  /** When the open file was made, in milliseconds since the epoch. */
  #madeAt = 0;
  /** Ends the file at its age, although nothing is appended. */
  #ending: Timer | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly root: string,
    readonly path: string,
  ) {}

  /** Appends run one after the other. Rejects with the error of the file system. */
  append(events: readonly OutgoingEvent[], rotation: FileRotation = {}): Promise<void> {
    const turn = this.#last.then(async () => {
      await this.#append(events);
      await this.#rotate(rotation);
    });
    this.#last = turn.catch(() => {});
    return turn;
  }

  async close(): Promise<void> {
    clearTimeout(this.#ending);
    this.#ending = undefined;
    await this.#last;
    await this.#forget();
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
      // A part of a line may have been written; it is cut off, so that the next line stays whole.
      await handle.truncate(this.#size).catch(() => {});
      await this.#forget();
      throw error;
    }
  }

  /** Ends the file when it is due. What was appended is safe already: a failure is tried again. */
  async #rotate(rotation: FileRotation): Promise<void> {
    const { rotateBytes = Number.POSITIVE_INFINITY, rotateAgeMs } = rotation;
    const left = rotateAgeMs === undefined ? 1 : this.#madeAt + rotateAgeMs - Date.now();
    if (this.#size < rotateBytes && left > 0) {
      if (rotateAgeMs !== undefined) this.#endIn(Math.min(left, rotateAgeMs), rotation);
      return;
    }
    clearTimeout(this.#ending);
    this.#ending = undefined;
    try {
      await this.#forget();
      await rotateFile(this.root, this.path);
      await deleteExpiredFiles(this.root, this.path, rotation);
    } catch {
      // A full disk, or somebody's file in the way: the file grows on until that is mended.
    }
  }

  #endIn(ms: number, rotation: FileRotation): void {
    this.#ending ??= setTimeout(() => {
      this.#ending = undefined;
      this.#last = this.#last.then(async () => {
        if (this.#handle !== undefined && (await this.#isInPlace(this.#handle))) {
          await this.#rotate(rotation);
        }
      });
      this.#last = this.#last.catch(() => {});
    }, ms).unref();
  }

  /** The open file, or a new one when it was moved away or deleted since. */
  async #current(): Promise<FileHandle> {
    if (this.#handle !== undefined && !(await this.#isInPlace(this.#handle))) await this.#forget();
    if (this.#handle !== undefined) return this.#handle;
    const handle = await openSafely(this.root, this.path);
    try {
      const stat = await handle.stat();
      if (!stat.isFile()) throw Object.assign(new Error(), { code: "EINVAL" });
      // Not every file system knows when a file was made.
      this.#madeAt = stat.birthtimeMs || stat.mtimeMs;
      this.#size = await mendTail(handle);
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

  async #forget(): Promise<void> {
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }
}

/**
 * Makes the file end with a newline and returns its size. A last line that is the beginning of
 * an object was cut by a crash: it was never acknowledged and comes again, so it goes. Anything
 * else is somebody's text and is kept as a line of its own.
 */
async function mendTail(handle: FileHandle): Promise<number> {
  const size = await cutUnwritten(handle, (await handle.stat()).size);
  const line = await lastLine(handle, size);
  if (line?.length === 0) return size;
  if (line?.[0] === brace && !isJson(line)) {
    const whole = size - line.length;
    await handle.truncate(whole);
    return whole;
  }
  await handle.write(Buffer.from("\n"));
  return size + 1;
}

/**
 * Cuts what a loss of power left of the last append: its length reached the disk before its
 * sectors did, and those that are missing are zeros, up to the end of a sector or of the file. It
 * was never acknowledged and comes again; a zero of other origin is no whole sector's rest.
 */
async function cutUnwritten(handle: FileHandle, size: number): Promise<number> {
  const from = Math.max(0, size - unwrittenBytesMax);
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

/** The text behind the last newline; undefined when it is too long to be an event. */
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

function isJson(text: Buffer): boolean {
  try {
    JSON.parse(text.toString());
    return true;
  } catch {
    return false;
  }
}
