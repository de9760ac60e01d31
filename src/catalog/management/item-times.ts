import { newId } from "../ids.ts";

/** Returns the fields that every new item of a workspace has. */
export function newItem(workspaceId: string) {
  const now = Date.now();
  return { id: newId(now), workspaceId, createdAt: now, updatedAt: now };
}

/**
 * Returns the time for a change of an item, in milliseconds since the Unix epoch. It is later than
 * the item's last change, even when the clock was set back, so that no two states of an item have
 * equal times.
 */
export function changeTime({ updatedAt }: { updatedAt: number }): number {
  return Math.max(Date.now(), updatedAt + 1);
}
