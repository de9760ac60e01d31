import { type FileHandle, open, unlink } from "node:fs/promises";
import type { Segment } from "./segments.ts";

/** Space of a trimmed segment is given back in steps of this size. */
export const LOG_FREE_STEP_BYTES = 4 << 20;
/** Between two steps of giving space back, so that other writes get their turn. */
const LOG_FREE_STEP_MS = 20;

/**
 * Deletes a segment without holding up whoever writes to the same disk: at once the name goes,
 * then, once `unread` resolves, the space, step by step. In one piece, 64 MiB kept every flush
 * waiting for 12 to 18 ms (ext4 with discard); in steps, no stall could be told from the disk's
 * own. A process that dies here leaves nothing behind: the file has no name any more.
 */
export async function deleteSegment(
  { path }: Segment,
  unread: () => Promise<unknown>,
): Promise<void> {
  let file: FileHandle;
  try {
    file = await open(path, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return;
  }
  try {
    await unlink(path);
    await unread();
    const { size } = await file.stat();
    for (let rest = size - LOG_FREE_STEP_BYTES; rest > 0; rest -= LOG_FREE_STEP_BYTES) {
      await file.truncate(rest);
      await Bun.sleep(LOG_FREE_STEP_MS);
    }
  } finally {
    await file.close();
  }
}
