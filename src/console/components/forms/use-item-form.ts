import { useKeptValues } from "../../data/kept-values.ts";
import type { Values } from "../../data/save.ts";
import { showToast } from "../toasts.ts";
import { useSave } from "./use-save.ts";

/**
 * State of a form that edits a stored item. Typed values stay until they are saved or discarded, also
 * when the item is loaded again meanwhile. It is saved over the state in which the user began to edit.
 */
export function useItemForm(
  item: Parameters<typeof useSave>[0] & {
    /** Name of the form, with the id of its item. */
    name: string;
    savedText: string;
    reload: () => Promise<void>;
  },
) {
  const form = useKeptValues(item.name, { base: item.base, tag: item.tag });
  const { save, conflict } = useSave({ ...item, base: form.base, tag: form.tag });
  return {
    ...form,
    conflict,
    async submit(values: Values = form.values): Promise<void> {
      if (!(await save(values))) return;
      form.discard();
      showToast(item.savedText);
      await item.reload();
    },
  };
}
