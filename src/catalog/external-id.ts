/**
 * Returns a copy of the item with this external id. An empty id removes the external id; an absent
 * one leaves the item as it is.
 */
export function withExternalId<T extends { externalId?: string }>(
  thing: T,
  { externalId }: { externalId?: string },
): T {
  if (externalId === undefined) return thing;
  const { externalId: _, ...rest } = thing;
  return (externalId === "" ? rest : { ...rest, externalId }) as T;
}
