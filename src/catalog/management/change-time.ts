/**
 * Returns the time of a change of an item, in milliseconds since the Unix epoch. It is later than
 * the item's last change, also when the clock steps back, so that it tells two states apart.
 */
export function changeTime({ updatedAt }: { updatedAt: number }): number {
  return Math.max(Date.now(), updatedAt + 1);
}
