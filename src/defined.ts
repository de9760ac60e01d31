/**
 * Returns the members that are not undefined, for objects whose optional members are absent rather
 * than undefined, such as answers in JSON.
 */
export function defined<T extends object>(
  members: T,
): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}
