import { closeSync, fstatSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { failureOf, type Missing } from "./counterpart.ts";

/** Mounts a file system in memory, of `bytes`, which stands for a disk. */
export function mountDisk(directory: string, bytes: number): void {
  const reason = failureOf(...mountCommand(directory, bytes));
  if (reason !== undefined) throw new Error(`Cannot mount a disk: ${reason}`);
}

const mountCommand = (directory: string, bytes: number) =>
  ["mount", "-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", directory] as const;

/** Unmounts the disk; its files are lost. */
export function unmountDisk(directory: string): void {
  failureOf("umount", "--lazy", directory);
}

/** The reason why no disk can be mounted here. */
export const mountMissing = missing();

/** Fills all free space of the disk. */
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

/** Frees the space that `fillDisk` filled. */
export function makeSpace(directory: string): void {
  rmSync(ballastIn(directory));
}

const ballastIn = (directory: string) => join(directory, "ballast");

function missing(): Missing {
  const directory = mkdtempSync(join(tmpdir(), "pixelmill-disk-"));
  const reason = failureOf(...mountCommand(directory, 1 << 20));
  if (reason === undefined) unmountDisk(directory);
  rmdirSync(directory);
  return reason;
}
