import { readdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { withSafePath } from "./safe-path.ts";

/** Maximum number of rotated files, and their maximum age in milliseconds. */
export interface FileRetention {
  keepFiles?: number | undefined;
  keepAgeMs?: number | undefined;
}

/**
 * Splits a path into folder, name and extension: `a/events.jsonl` → `a/`, `events` and `.jsonl`.
 */
function partsOf(path: string): { folder: string; stem: string; extension: string } {
  const slash = path.lastIndexOf("/") + 1;
  const name = path.slice(slash);
  const dot = name.lastIndexOf(".");
  const end = dot > 0 ? dot : name.length;
  return { folder: path.slice(0, slash), stem: name.slice(0, end), extension: name.slice(end) };
}

/** Returns a rotated file's path: `path` with `-` and `name` inserted before the extension. */
export function rotatedPath(path: string, name: string): string {
  const { folder, stem, extension } = partsOf(path);
  return `${folder}${stem}-${name}${extension}`;
}

/**
 * Returns the time in the name of a rotated file, in milliseconds since the epoch, or undefined
 * when `name` is not the name of a rotated file of `path`.
 */
function rotatedAt(path: string, name: string): number | undefined {
  const { stem, extension } = partsOf(path);
  if (!name.startsWith(`${stem}-`) || !name.endsWith(extension)) return undefined;
  const middle = name.slice(stem.length + 1, name.length - extension.length);
  const time = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})?Z(-[\w.-]+)?$/.exec(middle);
  if (time === null) return undefined;
  const [, year, month, day, hour, minute, second, ms = "000"] = time;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
}

/** Formats a time for a file name: `20260216T011111586Z`. */
function timeName(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, "");
}

/**
 * Renames a file to a rotated name, which contains the current time. The name sorts after those of
 * all earlier rotated files, even when the clock was set back. The new name is durable when the
 * promise resolves. After a crash, the file has either the old or the new name.
 */
export async function rotateFile(root: string, path: string): Promise<void> {
  await withSafePath(root, path, async (resolved, directory) => {
    const last = (await readdir(dirname(resolved)))
      .map((name) => rotatedAt(path, name) ?? 0)
      .reduce((latest, time) => Math.max(latest, time), 0);
    const name = timeName(Math.max(Date.now(), last + 1));
    await rename(resolved, rotatedPath(resolved, name));
    await directory.sync();
  });
}

/**
 * Deletes the rotated files that are older than `keepAgeMs`, and all but the `keepFiles` newest
 * ones.
 */
export async function deleteExpiredFiles(
  root: string,
  path: string,
  keeping: FileRetention,
): Promise<void> {
  const { keepFiles = Number.POSITIVE_INFINITY, keepAgeMs = Number.POSITIVE_INFINITY } = keeping;
  if (keepFiles === Number.POSITIVE_INFINITY && keepAgeMs === Number.POSITIVE_INFINITY) return;
  const now = Date.now();
  await withSafePath(root, path, async (resolved) => {
    const inside = dirname(resolved);
    const rotated = (await readdir(inside))
      .map((name) => ({ name, at: rotatedAt(path, name) }))
      .filter((file): file is { name: string; at: number } => file.at !== undefined)
      .sort((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1));
    for (const [index, { name, at }] of rotated.entries()) {
      if (index >= keepFiles || now - at > keepAgeMs) await rm(`${inside}/${name}`);
    }
  });
}
