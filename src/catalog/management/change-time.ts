/**
 * Returns the time for a change of an item, in milliseconds since the Unix epoch. It is later than
 * the item's last change, even when the clock was set back, so that no two states of an item have
 * equal times.
 */
export function changeTime({ updatedAt }: { updatedAt: number }): number {
  return Math.max(Date.now(), updatedAt + 1);
}
