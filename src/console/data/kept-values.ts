import { useEffect, useState } from "preact/hooks";
import { mergeValues, type Values } from "./save.ts";
import { onSignOut, session } from "./session.ts";

/** Values that a user has typed into a form, and the stored item from which the edit began. */
export interface EditedValues {
  values: Values;
  /** Values of the item when the user began to edit. */
  base: Values;
  /** Value of the item's `ETag` header when the user began to edit. */
  tag: string | undefined;
}

/**
 * Unsaved values of forms, by workspace and form. They are kept while the user opens other screens,
 * and after the session has expired. They are only in memory, because they may be secrets.
 */
const keptValues = new Map<string, EditedValues>();

onSignOut.add(() => keptValues.clear());

/**
 * Component state for the values of a form: the user's unsaved values or, if there are none, the
 * stored ones. Unsaved values are still there when a closed form is opened again.
 */
export function useKeptValues(name: string, stored: Omit<EditedValues, "values">) {
  const key = [session.value?.workspace.id, name].join(" ");
  const [edited, setEdited] = useState(() => keptValues.get(key));
  const shown = edited ?? { ...stored, values: stored.base };
  useEffect(() => {
    setEdited(keptValues.get(key));
  }, [key]);

  function keep(values: EditedValues | undefined): void {
    if (values === undefined) keptValues.delete(key);
    else keptValues.set(key, values);
    setEdited(values);
  }

  return {
    ...shown,
    isEdited: edited !== undefined,
    edit: (values: Values) => keep({ base: shown.base, tag: shown.tag, values }),
    discard: () => keep(undefined),
    /**
     * Drops the unsaved values after a save of `submitted`. If the user has typed more since, the
     * newer values are kept, as an edit of `stored` (the values and the ETag that the server has
     * stored).
     */
    settle(submitted: Values, stored: Omit<EditedValues, "values">) {
      const latest = keptValues.get(key);
      const isSettled = latest === undefined || latest === edited;
      if (isSettled) keep(undefined);
      else keep({ ...stored, values: mergeValues(submitted, latest.values, stored.base).merged });
    },
  };
}
