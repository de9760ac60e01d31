import { constants, open, rename, rm } from "node:fs/promises";
import { withSafePath } from "./safe-path.ts";

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
