import { ApiError } from "../errors.ts";

/** Item that may have an external id, by which a tool such as Terraform manages it. */
export interface Managed {
  id: string;
  workspaceId: string;
  externalId?: string;
}

/**
 * Returns `thing` with `externalId` as its external id, by which a tool such as Terraform manages
 * it. An empty `externalId` removes the external id; an undefined one changes nothing. `owner`
 * returns the id of the item that has a given external id. If the parameter `owner` is given,
 * throws `conflict` when another item has `externalId`, or when a non-empty `externalId` would
 * replace a different external id.
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
