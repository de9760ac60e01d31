import { newId } from "../ids.ts";

/** Creates an item of a workspace: `fields` with a new id, created and updated now. */
export function newItem<T extends object>(workspaceId: string, fields: T) {
  const now = Date.now();
  return { id: newId(now), workspaceId, ...fields, createdAt: now, updatedAt: now };
}

/**
 * Returns the time for a change of an item, in milliseconds since the Unix epoch. It is always
 * later than the item's last change, even when the clock was set back.
 */
export function changeTime({ updatedAt }: { updatedAt: number }): number {
  return Math.max(Date.now(), updatedAt + 1);
}
