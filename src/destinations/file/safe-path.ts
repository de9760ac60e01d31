import { constants, type FileHandle, mkdir, open } from "node:fs/promises";
import { platform } from "node:process";
import { makeDirectory } from "../../disk/sync.ts";
import { codeOf } from "../../errors.ts";

/**
 * Does something at a path beneath a directory without following any symbolic link below it, also
 * one that is swapped in meanwhile. Each component is opened relative to the directory already open
 * (`/proc/self/fd/N/name`, as openat(2) would) with O_NOFOLLOW. Missing directories are made.
 * `use` gets the place by that way, and the directory that holds it.
 */
export async function withSafePath<T>(
  root: string,
  path: string,
  use: (place: string, directory: FileHandle) => Promise<T>,
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

/** Opens a file beneath a directory, or makes it. */
export function openSafely(root: string, path: string): Promise<FileHandle> {
  return withSafePath(root, path, async (place, directory) => {
    const file = await open(place, fileFlags, 0o640);
    // The file may have been made just now: what is flushed to a file is lost when its name is
    // lost.
    await directory.sync();
    return file;
  });
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
// O_NONBLOCK: a FIFO in this place fails at once instead of waiting for a reader.
const fileFlags =
  constants.O_RDWR |
  constants.O_APPEND |
  constants.O_CREAT |
  constants.O_NOFOLLOW |
  constants.O_NONBLOCK;

/**
 * Only Linux lets a path start at an open directory; elsewhere each component is checked by itself.
 */
function join(directory: FileHandle, here: string, name: string): string {
  return platform === "linux" ? `/proc/self/fd/${directory.fd}/${name}` : `${here}/${name}`;
}
