import { ApiError } from "../errors.ts";

interface Managed {
  id: string;
  workspaceId: string;
  externalId?: string;
}

/**
 * Returns a copy of the item with this external id. An empty id removes the external id; an absent
 * one leaves the item as it is. With `owner`, which returns the id of the item that has an external
 * id already, throws `conflict` when that is another item, and when the item has another external
 * id, on which a tool relies.
 */
export function withExternalId<T extends Managed>(
  thing: T,
  { externalId }: { externalId?: string },
  owner?: (workspaceId: string, externalId: string) => string | undefined,
): T {
  if (externalId === undefined || externalId === thing.externalId) return thing;
  const { externalId: before, ...rest } = thing;
  if (externalId === "") return rest as T;
  if (owner !== undefined && before !== undefined) {
    const message = "It has another external id already: remove that with an empty one first";
    throw new ApiError("conflict", message);
  }
  const taken = owner?.(thing.workspaceId, externalId);
  if (taken !== undefined && taken !== thing.id) throw externalIdTaken();
  return { ...rest, externalId } as T;
}

export const externalIdTaken = () =>
  new ApiError("conflict", "The external id is that of another item of this kind");
