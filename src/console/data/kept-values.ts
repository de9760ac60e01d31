import { useEffect, useState } from "preact/hooks";
import type { Values } from "./save.ts";
import { onSignOut, session } from "./session.ts";

/** Values that a user has typed into a form, with the stored values that they replace. */
export interface EditedValues {
  values: Values;
  /** Values of the item when the user began to edit. */
  base: Values;
  /** Header ETag of the item when the user began to edit. */
  tag: string | undefined;
}

/**
 * Values that were typed into forms and not saved, by workspace and form. They survive a change of
 * the screen and the expiry of a session. They are kept only in memory, because they may be
 * secrets.
 */
const keptValues = new Map<string, EditedValues>();

onSignOut.add(() => keptValues.clear());

/**
 * Component state for the values of a form. Edited values are still there when the form is opened
 * again. A form without edits shows the stored values.
 */
export function useKeptValues(name: string, stored: Omit<EditedValues, "values">) {
  const key = [session.value?.workspace.id, name].join(" ");
  const [edited, setEdited] = useState(() => keptValues.get(key));
  const shown = edited ?? { ...stored, values: stored.base };
  useEffect(() => {
    setEdited(keptValues.get(key));
  }, [key]);

  function discard(): void {
    keptValues.delete(key);
    setEdited(undefined);
  }

  return {
    ...shown,
    isEdited: edited !== undefined,
    edit(values: Values) {
      const { base, tag } = shown;
      const next = { base, tag, values };
      keptValues.set(key, next);
      setEdited(next);
    },
    discard,
    /**
     * Ends the edit after the server has stored its values as `saved`. If the user has typed more
     * since this rendering, the newer values stay, as an edit of `saved`.
     */
    settle(saved: Values) {
      const latest = keptValues.get(key);
      if (latest === undefined || latest === edited) return discard();
      const next = { ...latest, base: saved };
      keptValues.set(key, next);
      setEdited(next);
    },
  };
}
