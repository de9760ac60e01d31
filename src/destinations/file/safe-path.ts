import { constants, type FileHandle, mkdir, open } from "node:fs/promises";
import { platform } from "node:process";
import { makeDirectory } from "../../disk/sync.ts";
import { codeOf } from "../../errors.ts";

/**
 * Calls `use` with a path below `root` that is resolved without following symbolic links, also links
 * that are swapped in meanwhile, as openat2(2) with RESOLVE_NO_SYMLINKS would. Each component is
 * opened relative to the directory already open (`/proc/self/fd/N/name`) with O_NOFOLLOW. Makes
 * missing directories. `use` gets the resolved path and the open directory that holds it.
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

/** Opens or makes a file below `root`, without following symbolic links. */
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
 * The path of an entry of an open directory. Only Linux lets a path start at a file descriptor;
 * elsewhere O_NOFOLLOW checks each component on its own.
 */
function join(directory: FileHandle, here: string, name: string): string {
  return platform === "linux" ? `/proc/self/fd/${directory.fd}/${name}` : `${here}/${name}`;
}
