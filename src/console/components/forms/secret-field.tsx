import { commonTexts } from "../../texts/common.ts";
import { Button } from "../button.tsx";
import { withCode } from "../inline-code.tsx";
import { type FieldProps, TextField } from "./fields.tsx";

/**
 * Field for a secret. It shows only whether a secret is stored, because the API never returns the
 * secret. Blank keeps the stored secret; a button sets the value of an optional secret to null,
 * which removes it.
 */
export function SecretField(
  props: FieldProps & {
    required: boolean;
    /** Whether the server has stored the secret; undefined in a form that creates an item. */
    isSet: boolean | undefined;
    /** The typed secret. Empty to keep the stored secret, null to remove it. */
    value: string | null;
    onChange: (value: string | null) => void;
  },
) {
  const { isSet, value, onChange, hint, ...field } = props;
  const { label, optional } = field;
  const isRemoved = value === null;
  // A typed text, or a shown value that is no secret, is visibly set.
  const hasStatus = isSet === true || (isSet === false && !value);
  return (
    <div class="secret">
      <TextField
        {...field}
        hint={
          <>
            {hasStatus && <b>{statusOf(isSet, isRemoved)}</b>}
            {hasStatus && hint !== undefined && <br />}
            {withCode(hint)}
          </>
        }
        type="password"
        autoComplete="new-password"
        value={value ?? ""}
        onInput={onChange}
      />
      {isSet && optional && (
        <Button
          compact
          label={isRemoved ? commonTexts.keepNamed(label) : commonTexts.removeNamed(label)}
          onClick={() => onChange(isRemoved ? "" : null)}
        >
          {isRemoved ? commonTexts.keep : commonTexts.remove}
        </Button>
      )}
    </div>
  );
}

function statusOf(isSet: boolean, isRemoved: boolean): string {
  if (!isSet) return commonTexts.secretNotSet;
  return isRemoved ? commonTexts.secretRemoved : commonTexts.secretSet;
}
