import { constants, type FileHandle, mkdir, open, rename, rm } from "node:fs/promises";
import { platform } from "node:process";
import { makeDirectory } from "../../disk/sync.ts";
import { codeOf } from "../../errors.ts";

/**
 * Calls `use` with a path at which to open the file `path` below `root`, and with the file's
 * directory, which is open until `use` settles. Creates missing directories. On Linux, reaches no
 * directory below `root` through a symbolic link, even one created meanwhile (like openat2(2) with
 * RESOLVE_NO_SYMLINKS).
 */
export async function withSafePath<T>(
  root: string,
  path: string,
  use: (resolved: string, directory: FileHandle) => Promise<T>,
): Promise<T> {
  const names = path.split("/");
  const last = names.pop() ?? "";
  makeDirectory(root);
  let directory = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
  let here = root;
  try {
    for (const name of names) {
      const next = join(directory, here, name);
      await mkdir(next).catch((error) => {
        if (codeOf(error) !== "EEXIST") throw error;
      });
      await directory.sync();
      const inner = await open(next, directoryFlags);
      await directory.close();
      directory = inner;
      here = next;
    }
    return await use(join(directory, here, last), directory);
  } finally {
    await directory.close();
  }
}

/** Opens a file below `root`, or creates it, without following symbolic links. */
export function openSafely(root: string, path: string): Promise<FileHandle> {
  return withSafePath(root, path, async (resolved, directory) => {
    const file = await open(resolved, fileFlags, 0o640);
    // If the file is new, its name must be durable too: without the name its data is lost.
    await directory.sync();
    return file;
  });
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
// O_NONBLOCK: opening a FIFO fails at once instead of waiting for a reader.
const fileFlags =
  constants.O_RDWR |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_NOFOLLOW |
  constants.O_NONBLOCK;

/**
 * Returns a path for the entry `name` of an open directory whose path is `here`. Only on Linux, the
 * returned path still leads into the open directory after another program replaced `here` by a
 * link.
 */
function join(directory: FileHandle, here: string, name: string): string {
  return platform === "linux" ? `/proc/self/fd/${directory.fd}/${name}` : `${here}/${name}`;
}

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/**
 * Writes a whole file atomically: readers see the complete file or none. Replaces an existing file.
 * Resolves when the file and its name are durable. Rejects with file system errors.
 */
export async function writeAtomically(
  root: string,
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  await withSafePath(root, path, async (resolved, directory) => {
    // The temporary file is hidden and always has the same name, so crashes leave at most one
    // behind.
    const slash = resolved.lastIndexOf("/") + 1;
    const unfinished = `${resolved.slice(0, slash)}.${resolved.slice(slash)}.unfinished`;
    try {
      const handle = await open(unfinished, flags, 0o640);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(unfinished, resolved);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await directory.sync();
  });
}
