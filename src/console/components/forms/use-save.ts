import { useState } from "preact/hooks";
import { SaveConflict, saveValues, type Values } from "../../data/save.ts";
import { conflictTexts } from "../../texts/conflicts.ts";
import { showToast } from "../toasts.ts";
import type { JsonSchema } from "./json-schema.ts";
import { hasSecret } from "./stored-values.ts";

/**
 * Component state for saving an item that another user may change while the form is open. If both
 * have changed the same field, this user chooses one of the two values, and then saves again.
 */
export function useSave(item: {
  base: Values;
  tag: string | undefined;
  send: (values: Values, tag: string | undefined) => Promise<unknown>;
  valuesOf: (current: never) => Values;
  labelOf: (key: string) => string;
  /** Returns the schema of the field with this key. It says which parts of the value are secret. */
  schemaOf?: (key: string) => JsonSchema | undefined;
}) {
  const [conflict, setConflict] = useState<SaveConflict>();
  const schemaOf = (key: string) => item.schemaOf?.(key) ?? {};
  const [takenFromOthers, setTaken] = useState<ReadonlySet<string>>(new Set());

  /** Saves the values. Resolves with false if the user must first resolve conflicts. */
  async function save(yours: Values): Promise<boolean> {
    const { send, valuesOf, labelOf } = item;
    // Once the user has seen the values of others, these are what the next save starts from.
    const seen = conflict && {
      base: conflict.theirs,
      tag: conflict.tag,
      yours: chosenValues(item.base, yours, conflict, takenFromOthers),
    };
    try {
      const others = await saveValues({
        base: item.base,
        tag: item.tag,
        yours,
        ...seen,
        send,
        valuesOf,
        isSecret: (key) => hasSecret(schemaOf(key)),
      });
      setConflict(undefined);
      if (others.length > 0) showToast(conflictTexts.alsoChanged(others.map(labelOf)));
      return true;
    } catch (error) {
      if (!(error instanceof SaveConflict)) throw error;
      setTaken(new Set());
      setConflict(error);
      return false;
    }
  }

  return {
    save,
    forgetConflict: () => setConflict(undefined),
    conflict: conflict && {
      conflict,
      labelOf: item.labelOf,
      schemaOf,
      takenFromOthers,
      onChoose(key: string, takesTheirs: boolean) {
        const next = new Set(takenFromOthers);
        if (takesTheirs) next.add(key);
        else next.delete(key);
        setTaken(next);
      },
    },
  };
}

/**
 * Returns the values to save. A field has this user's value (`yours`) if this user has changed it
 * and has not chosen the other user's value, otherwise the stored value (`theirs`).
 */
function chosenValues(
  base: Values,
  yours: Values,
  { theirs }: SaveConflict,
  takenFromOthers: ReadonlySet<string>,
): Values {
  const keys = new Set([...Object.keys(yours), ...Object.keys(theirs)]);
  const chosen: Values = {};
  for (const key of keys) {
    const isUnchanged = JSON.stringify(yours[key]) === JSON.stringify(base[key]);
    const value = isUnchanged || takenFromOthers.has(key) ? theirs[key] : yours[key];
    if (value !== undefined) chosen[key] = value;
  }
  return chosen;
}
