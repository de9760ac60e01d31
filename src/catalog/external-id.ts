import { ApiError } from "../errors.ts";

/** Item that may have an external id, by which a tool such as Terraform manages it. */
export interface Managed {
  id: string;
  workspaceId: string;
  externalId?: string;
}

/**
 * Returns `thing` with `externalId` as its external id; an empty one removes it, an undefined one
 * changes nothing.
 *
 * `owner` returns the id of the item that has an external id. With `owner`, throws `conflict` if
 * another item has `externalId`, or if `externalId` would replace a different one (removing is
 * allowed).
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
