import { type ChangedState, RequestRefused } from "../../api/client.ts";

/** This file saves forms without overwriting what another user has changed meanwhile. */

export type Values = Record<string, unknown>;

/** Properties of a component that changes a stored item. */
export interface StoredState {
  /** ETag of the version of the item that the component shows. */
  tag: string | undefined;
  /** Loads the item again. */
  reload: () => Promise<void>;
}

/** A field that this user and another user have changed to different values. */
export interface FieldConflict {
  key: string;
  base: unknown;
  theirs: unknown;
  yours: unknown;
}

/**
 * Thrown by a save if another user has meanwhile changed the same field to a different value. A
 * secret that this user has changed also conflicts with any change of the item by another user.
 */
export class SaveConflict extends Error {
  constructor(
    message: string,
    readonly fields: readonly FieldConflict[],
    /** The item's values as another user has saved them. `tag` is the ETag of this version. */
    readonly theirs: Values,
    readonly tag: string | undefined,
  ) {
    super(message);
  }
}

/**
 * Merges this user's values (`yours`) and the stored ones (`theirs`), which both began as `base`. A
 * field that both sides have changed differently gets this user's value and is a conflict. A secret
 * that this user has changed is always a conflict, because `theirs` does not show secrets.
 */
export function mergeValues(
  base: Values,
  yours: Values,
  theirs: Values,
  isSecret: (key: string) => boolean = () => false,
) {
  const merged: Values = {};
  const conflicts: FieldConflict[] = [];
  const changedByOthers: string[] = [];
  const keys = new Set([base, theirs, yours].flatMap((values) => Object.keys(values)));
  for (const key of keys) {
    const [old, own, other] = [base[key], yours[key], theirs[key]];
    // An equal value may come from the user's own save whose answer did not arrive.
    if (!isEqual(old, other) && !isEqual(own, other)) changedByOthers.push(key);
    const value = isEqual(old, own) ? other : own;
    if (value !== undefined) merged[key] = value;
    // Answers never show a secret, so others may have changed it too.
    const isHidden = isSecret(key) && !isEqual(old, own);
    if (!isHidden && (isEqual(old, own) || isEqual(old, other) || isEqual(own, other))) continue;
    conflicts.push({ key, base: old, theirs: other, yours: own });
  }
  return { merged, conflicts, changedByOthers };
}

const isEqual = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

/**
 * Maximum number of times that values are sent while each time another user has just changed the
 * item, or a proxy changes the entity tags.
 */
const ATTEMPTS_MAX = 10;

/**
 * Saves a form's values, and keeps other users' changes of other fields. Resolves with the names of
 * these fields. Rejects with `SaveConflict` if other users have changed the same fields.
 */
export async function saveValues(save: {
  /** Values of the item when the user began to edit. */
  base: Values;
  /** Value of the item's `ETag` header when the user began to edit. */
  tag: string | undefined;
  yours: Values;
  /** Sends the values to the server. `tag` is the ETag of the stored version that they replace. */
  send: (values: Values, tag: string | undefined) => Promise<unknown>;
  /** Converts an item, as the API returns it, to the form's values. */
  valuesOf: (current: never) => Values;
  /** Whether a field is a secret, which the API does not return, or returns only in part. */
  isSecret?: ((key: string) => boolean) | undefined;
}): Promise<string[]> {
  const { send, valuesOf, isSecret } = save;
  let { base, tag, yours } = save;
  const others = new Set<string>();
  for (let attempt = 1; ; attempt++) {
    try {
      await send(yours, tag);
      return [...others];
    } catch (error) {
      const changed = changedState(error);
      if (changed?.current === undefined || attempt === ATTEMPTS_MAX) throw error;
      const theirs = valuesOf(changed.current as never);
      const { merged, conflicts, changedByOthers } = mergeValues(base, yours, theirs, isSecret);
      if (conflicts.length > 0) {
        throw new SaveConflict((error as Error).message, conflicts, theirs, changed.tag);
      }
      for (const key of changedByOthers) others.add(key);
      base = theirs;
      yours = merged;
      tag = changed.tag;
    }
  }
}

/**
 * Returns the item's current version if `error` says that another user has changed the item.
 * Otherwise returns undefined.
 */
export function changedState(error: unknown): ChangedState | undefined {
  return error instanceof RequestRefused ? error.changed : undefined;
}

/**
 * Returns the result of `request`, which changes an item. If `request` rejects because another user
 * has changed the item, calls `reload` before rejecting with the same error.
 */
export async function reloadIfChanged<T>(
  request: Promise<T>,
  reload: () => Promise<void>,
): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (changedState(error) !== undefined) await reload();
    throw error;
  }
}
