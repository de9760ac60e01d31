import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useKeptValues } from "../../data/kept-values.ts";
import { SaveConflict, saveValues, type Values } from "../../data/save.ts";
import { commonTexts } from "../../texts/common.ts";
import { conflictTexts } from "../../texts/conflicts.ts";
import { Button } from "../button.tsx";
import { Badge } from "../layout.tsx";
import { showToast } from "../toasts.ts";
import type { JsonSchema } from "./json-schema.ts";
import { hasSecret, textOf } from "./stored-values.ts";
import { fieldsOf } from "./use-fields.ts";

/**
 * Shows each form field that both the user and another user have changed, with both values. The
 * user chooses one value for each field.
 */
export function FieldConflicts(props: NonNullable<ReturnType<typeof useSave>["conflict"]>) {
  const { conflict, labelOf, schemaOf, takenFromOthers, onChoose } = props;
  const notice = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    notice.current?.focus();
    notice.current?.scrollIntoView({ block: "nearest" });
  }, [conflict]);
  return (
    <div class="notice warn conflicts" role="alert" tabIndex={-1} ref={notice}>
      <p>
        <strong>{conflictTexts.title}</strong>
      </p>
      <p>{conflictTexts.explain}</p>
      {conflict.fields.map(({ key, base, theirs, yours }) => (
        <fieldset key={key}>
          <legend>{labelOf(key)}</legend>
          <p class="quiet">
            {conflictTexts.before}: <code>{textOf(base, schemaOf(key))}</code>
          </p>
          {[
            { isTheirs: false, label: conflictTexts.yours, value: yours },
            { isTheirs: true, label: conflictTexts.theirs, value: theirs },
          ].map(({ isTheirs, label, value }) => (
            <label key={label} class="checkbox">
              <input
                type="radio"
                name={`conflict ${key}`}
                checked={takenFromOthers.has(key) === isTheirs}
                onChange={() => onChoose(key, isTheirs)}
              />
              <span>
                {label}: <code>{textOf(value, schemaOf(key))}</code>
              </span>
            </label>
          ))}
        </fieldset>
      ))}
    </div>
  );
}

/** Notice that a form has unsaved changes, with a button that discards them. */
export function UnsavedChanges({ form }: { form: { isEdited: boolean; discard: () => void } }) {
  if (!form.isEdited) return null;
  return (
    <p class="row">
      <Badge tone="warn">{conflictTexts.unsavedChanges}</Badge>
      <Button compact kind="plain" onClick={form.discard}>
        {commonTexts.discardChanges}
      </Button>
    </p>
  );
}

/**
 * Component state for a form that edits a stored item. Typed values stay until they are saved or
 * discarded. A save replaces only the fields that the user changed, to keep other users' changes.
 */
export function useItemForm(
  item: Omit<Parameters<typeof useSave>[0], "send"> & {
    /** Sends the values as `useSave` does. Resolves with the ETag of the version that is stored. */
    send: (values: Values, tag: string | undefined) => Promise<{ tag: string | undefined }>;
    /** Key under which the form's unsaved values are kept. It contains the id of the item. */
    name: string;
    savedText: string;
    reload: () => Promise<void>;
  },
) {
  const form = useKeptValues(item.name, { base: item.base, tag: item.tag });
  const stored = useRef({ base: form.base, tag: form.tag });
  const { save, conflict, forgetConflict } = useSave({
    ...item,
    base: form.base,
    tag: form.tag,
    send: async (values, ifMatch) => {
      const { tag } = await item.send(values, ifMatch);
      stored.current = { base: values, tag };
    },
  });
  const [discards, setDiscards] = useState(0);
  const set = (change: Values) => form.edit({ ...form.values, ...change });
  return {
    ...form,
    ...fieldsOf(form.values, set),
    set,
    conflict,
    /**
     * Number of times that the user has discarded changes. When it grows, the fields also drop
     * invalid text, which is not among the form's values.
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
      form.settle(values, stored.current);
    },
  };
}

/**
 * Component state for saving an item that another user may change while the form is open. If both
 * users have changed the same field, this user chooses one of the two values, and then saves again.
 */
export function useSave(
  item: Omit<Parameters<typeof saveValues>[0], "yours" | "isSecret"> & {
    /** Returns the label of the field with this key. */
    labelOf: (key: string) => string;
    /** Returns the schema of the field with this key. The schema says which parts are secret. */
    schemaOf?: (key: string) => JsonSchema | undefined;
  },
) {
  const [conflict, setConflict] = useState<SaveConflict>();
  const schemaOf = (key: string) => item.schemaOf?.(key) ?? {};
  /** Keys of the fields for which this user chose the values that another user saved. */
  const [takenFromOthers, setTaken] = useState<ReadonlySet<string>>(new Set());

  /** Saves the values. Resolves with true, or with false if a conflict must be resolved. */
  async function save(yours: Values): Promise<boolean> {
    // Once the user has seen the values of others, these are what the next save starts from.
    const seen = conflict && {
      base: conflict.theirs,
      tag: conflict.tag,
      yours: chosenValues(item.base, yours, conflict, takenFromOthers),
    };
    try {
      const others = await saveValues({
        ...item,
        yours,
        ...seen,
        isSecret: (key) => hasSecret(schemaOf(key)),
      });
      setConflict(undefined);
      if (others.length > 0) showToast(conflictTexts.alsoChanged(others.map(item.labelOf)));
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
 * Returns the values to save after a conflict: this user's values (`yours`), but the stored values
 * (`theirs`) for fields that this user has not changed, or for which the other user's value was
 * chosen.
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
