/** Returns the item with the external id; an empty id removes the item's. */
export function withExternalId<T extends { externalId?: string }>(
  thing: T,
  { externalId }: { externalId?: string },
): T {
  if (externalId === undefined) return thing;
  const { externalId: _, ...rest } = thing;
  return (externalId === "" ? rest : { ...rest, externalId }) as T;
}
