import { ApiError } from "../errors.ts";

/** Item that may have an external id, by which a tool such as Terraform manages it. */
export interface Managed {
  id: string;
  workspaceId: string;
  externalId?: string;
}

/**
 * Returns the item with `externalId`, by which a tool such as Terraform manages it. An empty string
 * removes the item's external id; undefined changes nothing. `owner` returns the id of the item
 * that has an external id. If `owner` is given, throws `conflict` when another item has this
 * external id, or when this item has a different one, on which a tool relies.
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
