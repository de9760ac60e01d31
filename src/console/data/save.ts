import { type ChangedState, RequestRefused } from "../../api/client.ts";

/** Saving of forms whose item others may change meanwhile. */

export type Values = Record<string, unknown>;

/** The stored state of an item that a part of the screen shows. */
export interface StoredState {
  /** Header ETag of the state. */
  tag: string | undefined;
  /** Loads the state again. */
  reload: () => Promise<void>;
}

/** A field that the user and others changed to different values. */
export interface FieldConflict {
  key: string;
  base: unknown;
  theirs: unknown;
  yours: unknown;
}

/** Thrown when a save needs the user's decision, since others changed the same fields. */
export class SaveConflict extends Error {
  constructor(
    message: string,
    readonly fields: readonly FieldConflict[],
    /** The values that are stored now, with the header ETag of their state. */
    readonly theirs: Values,
    readonly tag: string | undefined,
  ) {
    super(message);
  }
}

/**
 * Merges the user's values with those that are stored now. A field that only one side has changed
 * since `base` gets that side's value. A field that both have changed keeps the user's value, and
 * is a conflict unless both values are equal. So is every secret that the user has changed.
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
 * Saves a form's values if the item still has the state that the form shows. If others changed
 * other fields meanwhile, saves both changes, and resolves with the names of the fields that others
 * changed. If they changed the same fields, rejects with `SaveConflict`.
 */
export async function saveValues(save: {
  /** Values that the form showed at first, and the header ETag of that state. */
  base: Values;
  tag: string | undefined;
  yours: Values;
  /** Sends the values, with the header ETag of the state that they change. */
  send: (values: Values, tag: string | undefined) => Promise<unknown>;
  /** Reads the values of the item from the answer of a GET. */
  valuesOf: (current: never) => Values;
  /** Whether answers hide the field's value, or a part of it. */
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

/** Returns the state that an error of a save describes, if others changed the item meanwhile. */
export function changedState(error: unknown): ChangedState | undefined {
  return error instanceof RequestRefused ? error.changed : undefined;
}

/**
 * Waits for a request about an item that the screen shows. If others changed the item meanwhile,
 * loads it again before the promise rejects, so that the user sees its current state.
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
