import { constants, open, rename, rm } from "node:fs/promises";
import { withSafePath } from "./safe-path.ts";

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/**
 * Writes a file atomically: it exists as a whole or not at all, and replaces a file of the same name.
 * Resolves when file and name are durable. Rejects with the error of the file system.
 */
export async function writeAtomically(
  root: string,
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  await withSafePath(root, path, async (resolved, directory) => {
    // A hidden file, with the same name each time: crashes leave one of them at most.
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
