/**
 * Returns an object with the members whose value is not undefined. Used for objects that must omit
 * optional members without a value, such as answers in JSON.
 */
export function defined<T extends object>(
  members: T,
): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  const given = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as { [Key in keyof T]?: Exclude<T[Key], undefined> };
}
