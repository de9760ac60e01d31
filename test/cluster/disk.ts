import { closeSync, fstatSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A file system in memory, of so many bytes, which stands for a disk. */
export function mountDisk(directory: string, bytes: number): void {
  const said = run("mount", "-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", directory);
  if (said !== undefined) throw new Error(`A disk cannot be mounted: ${said}`);
}

/** What was on it is gone. */
export function unmountDisk(directory: string): void {
  run("umount", "--lazy", directory);
}

/** Why no disk can be mounted here, as a sentence; undefined when one can. */
export const disksMissing = missing();

/** Takes all the space that is left. */
export function fillDisk(directory: string): void {
  const file = openSync(ballastIn(directory), "a");
  const part = Buffer.alloc(fstatSync(file).blksize);
  try {
    for (;;) writeSync(file, part);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(file);
  }
}

/** Gives back what `fillDisk` took. */
export function makeSpace(directory: string): void {
  rmSync(ballastIn(directory));
}

const ballastIn = (directory: string) => join(directory, "ballast");

function missing(): string | undefined {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-disk-"));
  const said = run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", directory);
  if (said === undefined) unmountDisk(directory);
  rmdirSync(directory);
  return said === undefined ? undefined : `Full disks want the right to mount: ${said}`;
}

/** What a command says when it fails. */
function run(...command: string[]): string | undefined {
  if (Bun.which(command[0]!) === null) return `There is no ${command[0]}`;
  const { exitCode, stderr } = Bun.spawnSync(command);
  return exitCode === 0 ? undefined : stderr.toString().trim();
}
