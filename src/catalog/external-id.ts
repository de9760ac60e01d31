import { ApiError } from "../errors.ts";

/** Item that an external tool may manage. */
export interface Managed {
  id: string;
  workspaceId: string;
  externalId?: string;
}

/**
 * Returns a copy of the item with this external id, which an external tool such as Terraform gave
 * it. An empty id removes the external id; an absent id leaves the item unchanged. `owner` returns
 * the id of the item that has a given external id. If `owner` is given, throws `conflict` in two
 * cases: another item has this external id, or this item already has a different one, on which a
 * tool relies.
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
  new ApiError("conflict", "Another item of this kind has the external id");
