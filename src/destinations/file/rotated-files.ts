import { readdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { withSafePath } from "./safe-path.ts";

/** How long, and how many, files that have ended are kept. */
export interface FileRetention {
  keepFiles?: number | undefined;
  keepAgeMs?: number | undefined;
}

/** `a/events.jsonl` → `events` and `.jsonl`. */
function partsOf(path: string): { folder: string; stem: string; extension: string } {
  const slash = path.lastIndexOf("/") + 1;
  const name = path.slice(slash);
  const dot = name.lastIndexOf(".");
  const end = dot > 0 ? dot : name.length;
  return { folder: path.slice(0, slash), stem: name.slice(0, end), extension: name.slice(end) };
}

/** The path of a file that has ended: its name has this in it and sorts by time. */
export function rotatedPath(path: string, name: string): string {
  const { folder, stem, extension } = partsOf(path);
  return `${folder}${stem}-${name}${extension}`;
}

/** Milliseconds that an ended file's name tells; undefined for any other file. */
function rotatedAt(path: string, name: string): number | undefined {
  const { stem, extension } = partsOf(path);
  if (!name.startsWith(`${stem}-`) || !name.endsWith(extension)) return undefined;
  const middle = name.slice(stem.length + 1, name.length - extension.length);
  const time = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})?Z(-[\w.-]+)?$/.exec(middle);
  if (time === null) return undefined;
  const [, year, month, day, hour, minute, second, ms = "000"] = time;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z`);
}

/** `20260216T011111586Z` */
function timeName(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:.]/g, "");
}

/**
 * Ends the file at the path: gives it a name of its own behind all that ended before, also when the
 * clock was set back. The name is on disk when this resolves; a crash leaves the old one or the new.
 */
export async function rotateFile(root: string, path: string): Promise<void> {
  await withSafePath(root, path, async (place, directory) => {
    const times = (await readdir(dirname(place)))
      .map((name) => rotatedAt(path, name) ?? 0)
      .reduce((last, time) => Math.max(last, time), 0);
    const name = timeName(Math.max(Date.now(), times + 1));
    await rename(place, rotatedPath(place, name));
    await directory.sync();
  });
}

/** Deletes ended files that are not to be kept. */
export async function deleteExpiredFiles(
  root: string,
  path: string,
  keeping: FileRetention,
): Promise<void> {
  const { keepFiles = Number.POSITIVE_INFINITY, keepAgeMs = Number.POSITIVE_INFINITY } = keeping;
  if (keepFiles === Number.POSITIVE_INFINITY && keepAgeMs === Number.POSITIVE_INFINITY) return;
  const now = Date.now();
  await withSafePath(root, path, async (place) => {
    const inside = dirname(place);
    const ended = (await readdir(inside))
      .map((name) => ({ name, at: rotatedAt(path, name) }))
      .filter((file): file is { name: string; at: number } => file.at !== undefined)
      .sort((a, b) => b.at - a.at || (a.name < b.name ? 1 : -1));
    for (const [index, { name, at }] of ended.entries()) {
      if (index >= keepFiles || now - at > keepAgeMs) await rm(`${inside}/${name}`);
    }
  });
}
