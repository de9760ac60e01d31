import { constants, open, rename, rm } from "node:fs/promises";
import { withSafePath } from "./safe-path.ts";

const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/**
 * Writes a file that is there as a whole or not at all; one that has the name is replaced. It is on
 * disk, with its name, when this resolves. Rejects with the error of the file system.
 */
export async function writeAtomically(
  root: string,
  path: string,
  bytes: Uint8Array,
): Promise<void> {
  await withSafePath(root, path, async (place, directory) => {
    // Hidden from who lists files, and the same name each time: a crash leaves no heap of them.
    const slash = place.lastIndexOf("/") + 1;
    const unfinished = `${place.slice(0, slash)}.${place.slice(slash)}.unfinished`;
    try {
      const handle = await open(unfinished, flags, 0o640);
      try {
        await handle.writeFile(bytes);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(unfinished, place);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await directory.sync();
  });
}
