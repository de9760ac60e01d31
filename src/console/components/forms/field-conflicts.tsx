import { useLayoutEffect, useRef } from "preact/hooks";
import type { SaveConflict } from "../../data/save.ts";
import { commonTexts } from "../../texts/common.ts";
import { conflictTexts } from "../../texts/conflicts.ts";
import { Button } from "../button.tsx";
import { Badge } from "../layout.tsx";
import type { JsonSchema } from "./json-schema.ts";
import { textOf } from "./stored-values.ts";

/**
 * Shows each form field that both the user and another user have changed, with both values. The
 * user chooses one value for each field.
 */
export function FieldConflicts(props: {
  conflict: SaveConflict;
  /** Returns the label of the field with the key `key`. */
  labelOf: (key: string) => string;
  /**
   * Returns the schema of the field with the key `key`. It says which parts of the value are
   * secret.
   */
  schemaOf: (key: string) => JsonSchema;
  /** Keys of the fields for which this user chose the values that another user saved. */
  takenFromOthers: ReadonlySet<string>;
  onChoose: (key: string, takesTheirs: boolean) => void;
}) {
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
