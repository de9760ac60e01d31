/** The item with the id by which an external tool knows it; an empty id takes the item's away. */
export function withExternalId<T extends { externalId?: string }>(
  thing: T,
  { externalId }: { externalId?: string },
): T {
  if (externalId === undefined) return thing;
  const { externalId: _, ...rest } = thing;
  return (externalId === "" ? rest : { ...rest, externalId }) as T;
}
