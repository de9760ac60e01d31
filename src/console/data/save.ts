import { type ChangedState, RequestRefused } from "../../api/client.ts";

/** This file saves forms without overwriting what another user has changed meanwhile. */

export type Values = Record<string, unknown>;

/** Properties of a component that shows and changes a stored item. */
export interface StoredState {
  /** Header ETag of the item as the screen shows it. */
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

/** Thrown if another user changed the same fields, so that the user must decide before saving. */
export class SaveConflict extends Error {
  constructor(
    message: string,
    readonly fields: readonly FieldConflict[],
    /** The values that the server has stored. `tag` is their header ETag. */
    readonly theirs: Values,
    readonly tag: string | undefined,
  ) {
    super(message);
  }
}

/**
 * Merges the user's values, `yours`, with those that the server has stored, `theirs`. A field that
 * only one of them has changed since `base` gets the changed value. A field that both have changed
 * keeps the user's value. It is a conflict unless both values are equal. Every secret that the user
 * has changed is a conflict, because `theirs` does not show whether others changed it.
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
  for (const key of new Set([
    ...Object.keys(base),
    ...Object.keys(theirs),
    ...Object.keys(yours),
  ])) {
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
 * Saves a form's values if the item has not changed since it was loaded. If other users have
 * changed only other fields, it saves both changes and resolves with the names of the fields that
 * the others changed. If they have changed the same fields, it rejects with `SaveConflict`.
 */
export async function saveValues(save: {
  /** Values of the item when the user began to edit. */
  base: Values;
  /** Header ETag of the item when the user began to edit. */
  tag: string | undefined;
  yours: Values;
  /** Sends the values to the server. `tag` is the ETag of the stored values that they replace. */
  send: (values: Values, tag: string | undefined) => Promise<unknown>;
  /** Returns the form's values from the item as a GET request answers it. */
  valuesOf: (current: never) => Values;
  /** Whether the API's answers hide the field's value, or a part of it. */
  isSecret?: ((key: string) => boolean) | undefined;
}): Promise<string[]> {
  const { send, valuesOf, isSecret } = save;
  let { base, tag, yours } = save;
  const others = new Set<string>();
  for (;;) {
    try {
      await send(yours, tag);
      return [...others];
    } catch (error) {
      const changed = changedState(error);
      if (changed?.current === undefined) throw error;
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
 * Returns the item's current state if `error` says that another user has changed the item since it
 * was loaded. Otherwise returns undefined.
 */
export function changedState(error: unknown): ChangedState | undefined {
  return error instanceof RequestRefused ? error.changed : undefined;
}

/**
 * Waits for a request that changes an item. If the server refuses it because another user has
 * changed the item, loads the item again before the promise rejects, so that the user sees its
 * current state.
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
