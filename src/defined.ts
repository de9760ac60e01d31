/**
 * Returns an object without the members whose value is undefined. It is for objects that omit
 * optional members, such as answers in JSON.
 */
export function defined<T extends object>(
  members: T,
): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}
