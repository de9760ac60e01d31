import { readdir, rename, rm } from "node:fs/promises";
import { dirname, extname, join, parse } from "node:path";
import { ageOf } from "../../observe/ages.ts";
import type { FileConfig } from "./config.ts";
import { withSafePath } from "./safe-path.ts";

/** Maximum number of rotated files, and their maximum age in milliseconds. */
export type FileRetention = Pick<FileConfig, "keepFiles" | "keepAgeMs">;

/** Returns a rotated file's path: `path` with `-` and `name` inserted before the extension. */
export function rotatedPath(path: string, name: string): string {
  const { dir, name: stem, ext } = parse(path);
  return join(dir, `${stem}-${name}${ext}`);
}

/** Returns the part of the file name `name` that `rotatedPath` inserted into `path`. */
function middleOf(path: string, name: string): string {
  const { name: stem, ext } = parse(path);
  return name.slice(stem.length + 1, name.length - ext.length);
}

/**
 * Returns the time in the name of a rotated file, in milliseconds since the epoch, or undefined
 * when `name` is not the name of a rotated file of `path`.
 */
function rotatedAt(path: string, name: string): number | undefined {
  const { name: stem, ext } = parse(path);
  if (!name.startsWith(`${stem}-`) || !name.endsWith(ext)) return undefined;
  const time = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})?Z(-[\w.-]+)?$/.exec(
    middleOf(path, name),
  );
  if (time === null) return undefined;
  // A name without milliseconds sorts after those that have some in the same second.
  const [, year, month, day, hour, minute, second, ms = "999"] = time;
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
  // A file of another program may have a name in this form with a month or an hour that is none.
  return Number.isNaN(at) ? undefined : at;
}

/**
 * Returns the text that `rotatedPath` inserts for a delivery: the text that an earlier attempt
 * used, or else `name` with the current time. With the original time, the file of a late retry
 * would be deleted first, as the oldest.
 */
export async function writtenName(root: string, path: string, name: string): Promise<string> {
  const rest = name.slice(name.indexOf("-"));
  return await withSafePath(root, path, async (resolved) => {
    const names = await readdir(dirname(resolved));
    const earlier = names.find((it) => rotatedAt(path, it) && it.endsWith(rest + extname(path)));
    return earlier === undefined ? nextTime(path, names) + rest : middleOf(path, earlier);
  });
}

/**
 * Returns the time for the name of the next rotated file, as text. This is the current time, unless
 * the clock was set back: if `names` contains a later time, the result is one millisecond after it.
 */
function nextTime(path: string, names: readonly string[]): string {
  const last = names
    .map((name) => rotatedAt(path, name) ?? 0)
    .reduce((latest, time) => Math.max(latest, time), 0);
  return timeName(Math.max(Date.now(), last + 1));
}

/** Formats a time for a file name: `20260216T011111586Z`. */
function timeName(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, "");
}

/**
 * Gives a file a rotated name that contains the time and sorts after all earlier rotated names,
 * even if the clock was set back. The name is durable when the promise resolves.
 */
export async function rotateFile(root: string, path: string): Promise<void> {
  await withSafePath(root, path, async (resolved, directory) => {
    const name = nextTime(path, await readdir(dirname(resolved)));
    await rename(resolved, rotatedPath(resolved, name));
    await directory.sync();
  });
}

/** Whether the number or the age of rotated files is limited, so that old ones are deleted. */
export function deletesFiles({ keepFiles, keepAgeMs }: FileRetention): boolean {
  return keepFiles !== undefined || keepAgeMs !== undefined;
}

/**
 * Deletes each rotated file that is older than `keepAgeMs`, or that is not among the `keepFiles`
 * newest ones.
 */
export async function deleteExpiredFiles(
  root: string,
  path: string,
  keeping: FileRetention,
): Promise<void> {
  const { keepFiles = Number.POSITIVE_INFINITY, keepAgeMs = Number.POSITIVE_INFINITY } = keeping;
  if (!deletesFiles(keeping)) return;
  await withSafePath(root, path, async (resolved) => {
    const inside = dirname(resolved);
    // A directory of another program may have the name of a rotated file.
    const rotated = (await readdir(inside, { withFileTypes: true }))
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => ({ name, at: rotatedAt(path, name) }))
      .filter((file): file is { name: string; at: number } => file.at !== undefined)
      .sort((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1));
    for (const [index, { name, at }] of rotated.entries()) {
      if (index >= keepFiles || ageOf(at) > keepAgeMs) await rm(`${inside}/${name}`);
    }
  });
}
