import { type FileHandle, open, unlink } from "node:fs/promises";
import { codeOf } from "../../errors.ts";
import type { Segment } from "./segments.ts";

/** Space of a deleted segment is given back in steps of this size. */
export const LOG_FREE_STEP_BYTES = 4 << 20;
/**
 * Pause between two steps of giving space back, so that other writes to the disk get their turn.
 */
const LOG_FREE_STEP_MS = 20;

/**
 * Deletes a segment without holding up whoever writes to the same disk. Its name goes at once; once
 * `unread` resolves, its space goes step by step. Freed in one piece, 64 MiB kept every flush
 * waiting for 12 to 18 ms (ext4 with discard); freed in steps, no stall could be told from the
 * disk's own. A process that dies in between leaves nothing behind, since the file has no name any
 * more.
 */
export async function deleteSegment(
  { path }: Segment,
  unread: () => Promise<unknown>,
): Promise<void> {
  let file: FileHandle;
  try {
    file = await open(path, "r+");
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
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
