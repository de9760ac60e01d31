import { useState } from "preact/hooks";
import { useKeptValues } from "../../data/kept-values.ts";
import type { Values } from "../../data/save.ts";
import { showToast } from "../toasts.ts";
import { fieldsOf } from "./use-fields.ts";
import { useSave } from "./use-save.ts";

/**
 * Component state for a form that edits a stored item. Typed values stay until they are saved or
 * discarded, even if the item is loaded again. A save compares them with the item as it was when
 * the edit began, because only changed fields replace those of other users.
 */
export function useItemForm(
  item: Parameters<typeof useSave>[0] & {
    /** Key under which the form's unsaved values are kept. It contains the id of the item. */
    name: string;
    savedText: string;
    reload: () => Promise<void>;
  },
) {
  const form = useKeptValues(item.name, { base: item.base, tag: item.tag });
  const { save, conflict, forgetConflict } = useSave({ ...item, base: form.base, tag: form.tag });
  const [discards, setDiscards] = useState(0);
  const set = (change: Values) => form.edit({ ...form.values, ...change });
  return {
    ...form,
    ...fieldsOf(form.values, set),
    set,
    conflict,
    /**
     * Number of times that the user has discarded changes. When it grows, a field also drops typed
     * text that is invalid and therefore not among the form's values.
     */
    discards,
    discard() {
      form.discard();
      forgetConflict();
      setDiscards(discards + 1);
    },
    async submit(values: Values = form.values): Promise<void> {
      if (!(await save(values))) return;
      showToast(item.savedText);
      // Until it is loaded, the stored item that an unedited form shows is the former one.
      await item.reload();
      form.settle(values);
    },
  };
}
