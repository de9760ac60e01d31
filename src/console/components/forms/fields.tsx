import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /** Reason why the value is invalid, shown below the field. */
  error?: string | undefined;
  optional?: boolean;
}

/** HTML attributes that connect an input to its label, hint and error. */
interface ControlAttributes {
  id: string;
  "aria-describedby": string;
  "aria-invalid": boolean | undefined;
}

export function Field(
  props: FieldProps & { children: (attributes: ControlAttributes) => ComponentChildren },
) {
  const { label, hint, error, optional, children } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>
        {label}
        {optional && <span class="quiet"> (optional)</span>}
      </label>
      {children({ id, "aria-describedby": `${id}-more`, "aria-invalid": error ? true : undefined })}
      <div id={`${id}-more`}>
        {error && <p class="wrong">{error}</p>}
        {hint && <p class="hint">{hint}</p>}
      </div>
    </div>
  );
}

interface TextProps extends FieldProps {
  value: string;
  onInput: (value: string) => void;
  type?: "text" | "password" | "email" | "url" | "number" | "datetime-local";
  placeholder?: string;
  required?: boolean;
  code?: boolean;
  autoFocus?: boolean;
  autoComplete?: string;
  min?: number;
  max?: number;
  maxLength?: number;
}

export function TextField(props: TextProps) {
  const { value, onInput, type = "text", code, autoFocus, autoComplete = "off" } = props;
  const { placeholder, required, min, max, maxLength } = props;
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (autoFocus) input.current?.focus();
  }, []);
  return (
    <Field {...props}>
      {(attributes) => (
        <input
          {...attributes}
          ref={input}
          // Preact's types allow `role` only for some input types. No input here has a role.
          type={type as "text"}
          class={code ? "mono" : undefined}
          value={value}
          placeholder={placeholder}
          required={required}
          autoComplete={autoComplete}
          spellcheck={false}
          min={min}
          max={max}
          maxLength={maxLength}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function TextAreaField(props: FieldProps & TextAreaProps) {
  const { value, onInput, code } = props;
  return (
    <Field {...props}>
      {(attributes) => (
        <textarea
          {...attributes}
          class={code ? "mono" : undefined}
          value={value}
          spellcheck={!code}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

interface TextAreaProps {
  value: string;
  onInput: (value: string) => void;
  code?: boolean;
}

export interface SelectOption {
  value: string;
  text: string;
}

export const optionsOf = (items: readonly { id: string; name: string }[]): SelectOption[] =>
  items.map(({ id, name }) => ({ value: id, text: name }));

/**
 * Adds an option for the current value if the list lacks the value, such as the id of a deleted
 * item.
 */
export function includeCurrent(options: readonly SelectOption[], value: string) {
  if (value === "" || options.some((option) => option.value === value)) return options;
  return [{ value, text: value }, ...options];
}

export function SelectField(
  props: FieldProps & {
    value: string;
    options: readonly SelectOption[];
    onChange: (value: string) => void;
  },
) {
  const { value, options, onChange } = props;
  return (
    <Field {...props}>
      {(attributes) => (
        <select
          {...attributes}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Checkbox(props: {
  children: ComponentChildren;
  on: boolean;
  onChange: (on: boolean) => void;
}) {
  const { children, on, onChange } = props;
  return (
    <label class="checkbox">
      <input
        type="checkbox"
        checked={on}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>{children}</span>
    </label>
  );
}
