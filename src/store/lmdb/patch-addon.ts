/**
 * Patches two messages in lmdb's native addon in `node_modules`: `bun
 * src/store/lmdb/patch-addon.ts`, which `.ci/setup` runs.
 *
 * When a write fails, lmdb 3.5.6 formats a message that can be too long for its buffer of 100
 * bytes. The message then damages the heap, and the process aborts after several writes to a full
 * disk. The patch shortens the message. It also empties a message without a line end, which lmdb
 * prints and which would damage the next log line.
 */
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Format strings of `printf` in the addon. The patch shortens each to its first part, `kept`. */
const PATCHES = [
  {
    format: "Attempting to write page at position %u, size %u, blocks %u, buffer sizes %i %i %i",
    kept: "Attempting to write page at position %u, size %u, blocks %u",
  },
  { format: "Write error: %s position %u, size %u", kept: "" },
] as const;

/**
 * Shortens each format string of `PATCHES` in `addon` to its `kept` part. Returns whether a byte
 * was changed. Throws if `addon` has neither the original nor the patched string, as in another
 * version of lmdb.
 */
export function patchAddon(addon: Buffer): boolean {
  let isChanged = false;
  for (const { format, kept } of PATCHES) {
    const [whole, patched] = [`${format}\0`, `${kept}\0${format.slice(kept.length + 1)}\0`];
    const at = addon.indexOf(whole, 0, "latin1");
    if (at < 0 && addon.includes(patched, 0, "latin1")) continue;
    if (at < 0) throw new Error(`Expected the text "${format}" in lmdb's addon`);
    addon.writeUInt8(0, at + kept.length);
    isChanged = true;
  }
  return isChanged;
}

/** Returns the path of the native addon in each installed package of lmdb for a Linux platform. */
export function addonFiles(): string[] {
  const scope = join(dirname(Bun.resolveSync("lmdb/package.json", import.meta.dir)), "../@lmdb");
  return readdirSync(scope)
    .filter((name) => name.startsWith("lmdb-linux-"))
    .map((name) => join(scope, name, "node.napi.glibc.node"));
}

/** Patches the addon in a file, unless it is patched already. */
export function patchAddonFile(path: string): void {
  const addon = readFileSync(path);
  if (!patchAddon(addon)) return;
  // A process that has loaded the addon keeps the former file.
  writeFileSync(`${path}.part`, addon);
  renameSync(`${path}.part`, path);
  process.stdout.write(`Patched ${path}\n`);
}

if (import.meta.main) for (const path of addonFiles()) patchAddonFile(path);
