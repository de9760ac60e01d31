import { useSignal } from "@preact/signals";
import type { ComponentChildren, InputHTMLAttributes } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Permission } from "../../data/model.ts";
import { isolated } from "../../format.ts";
import { commonTexts } from "../../texts/common.ts";
import { Button } from "../button.tsx";
import { ErrorNotice } from "../error-notice.tsx";
import { withCode } from "../inline-code.tsx";
import { concerns, type FieldPath, FormErrors, useErrorAt } from "./form-errors.ts";
import { FieldConflicts } from "./use-save.tsx";
import { useSubmit } from "./use-submit.ts";

export interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  /**
   * JSON pointer to the field's value in the request's body. If the server refuses this value, the
   * field shows why.
   */
  path?: string;
  /** Whether the value is a list. The field then also shows errors of the list's items. */
  isList?: boolean;
  /**
   * Error message from the console itself, such as for an invalid value. It is shown in place of
   * the server's message.
   */
  error?: string | undefined;
  optional?: boolean;
}

/** HTML attributes that connect an input to its label, hint and error. */
export interface ControlAttributes {
  id: string;
  "aria-describedby": string;
  "aria-invalid": boolean | undefined;
}

export function Field(
  props: FieldProps & { children: (attributes: ControlAttributes) => ComponentChildren },
) {
  const { label, hint, optional, children } = props;
  const id = useId();
  const refused = useErrorAt(props.path, props.isList);
  const error = props.error ?? refused;
  return (
    <div class="field">
      <label for={id}>
        {label}
        {optional && <span class="quiet"> {commonTexts.optional}</span>}
      </label>
      {children({ id, "aria-describedby": `${id}-more`, "aria-invalid": error ? true : undefined })}
      <div id={`${id}-more`}>
        {error && <p class="wrong">{withCode(error)}</p>}
        {hint && <p class="quiet small">{withCode(hint)}</p>}
      </div>
    </div>
  );
}

type InputName = "autoComplete" | "max" | "maxLength" | "min" | "placeholder" | "required";

interface TextProps extends FieldProps, Pick<InputHTMLAttributes, InputName> {
  value: string;
  onInput: (value: string) => void;
  type?: "text" | "password" | "email" | "url" | "number";
  code?: boolean;
  autoFocus?: boolean;
}

export function TextField(props: TextProps) {
  const { label, hint, path, isList, error, optional, onInput, code, autoFocus, ...input } = props;
  const element = useRef<HTMLInputElement>(null);
  // Not an effect after the paint, which would take the focus from a field chosen meanwhile.
  useLayoutEffect(() => {
    if (autoFocus) element.current?.focus();
  }, []);
  return (
    <Field {...props}>
      {(attributes) => (
        <input
          {...attributes}
          autoComplete="off"
          {...input}
          ref={element}
          // Preact's types allow `role` only for some input types. No input here has a role.
          type={(props.type ?? "text") as "text"}
          class={code ? "mono" : undefined}
          spellcheck={false}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

export function TextAreaField(
  props: FieldProps & { value: string; onInput: (value: string) => void; code?: boolean },
) {
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

/**
 * Field for a date and a 24-hour time. It has two inputs, because the browser's control has a
 * 12-hour clock in some languages. The value is a local time such as `2026-02-16T21:30`, or empty
 * without a date.
 */
export function DateTimeField(
  props: FieldProps & { value: string; onInput: (value: string) => void; required?: boolean },
) {
  const { label, value, onInput, required } = props;
  const [day = "", time = ""] = value.split("T");
  return (
    <Field {...props}>
      {(attributes) => (
        <span class="date-time">
          <input
            {...attributes}
            type="date"
            value={day}
            required={required}
            onInput={({ currentTarget }) => {
              onInput(currentTarget.value && `${currentTarget.value}T${time || MIDNIGHT}`);
            }}
          />
          <input
            type="text"
            inputMode="numeric"
            aria-label={commonTexts.timeOf(label)}
            value={time.slice(0, MIDNIGHT.length)}
            placeholder={MIDNIGHT}
            disabled={day === ""}
            onChange={({ currentTarget }) => {
              const typed = timeOfDay(currentTarget.value) ?? time.slice(0, MIDNIGHT.length);
              currentTarget.value = typed;
              onInput(`${day}T${typed || MIDNIGHT}`);
            }}
          />
        </span>
      )}
    </Field>
  );
}

const MIDNIGHT = "00:00";

/** Returns a 24-hour time such as `9:30`, `0930` or `21` as `HH:MM`, or undefined if invalid. */
function timeOfDay(text: string): string | undefined {
  const [, hour = "", minute = "00"] = /^\s*(\d{1,2})(?:[:.]?(\d{2}))?\s*$/.exec(text) ?? [];
  if (hour === "" || Number(hour) > 23 || Number(minute) > 59) return undefined;
  return `${hour.padStart(2, "0")}:${minute}`;
}

export interface SelectOption {
  value: string;
  text: string;
}

export const optionsOf = (items: readonly { id: string; name: string }[]): SelectOption[] =>
  items.map(({ id, name }) => ({ value: id, text: isolated(name) }));

/** Returns the options of a select. `texts` has the label of each option by its value. */
export const optionsByValue = (texts: Readonly<Record<string, string>>): SelectOption[] =>
  Object.entries(texts).map(([value, text]) => ({ value, text }));

/**
 * Returns the options of a select, with an option for the current value. If no option has this
 * value, an option with the label `text` is put first. Adds none for an empty value.
 */
export function includeCurrent(options: readonly SelectOption[], value: string, text = value) {
  if (value === "" || options.some((option) => option.value === value)) return options;
  return [{ value, text }, ...options];
}

interface SelectProps {
  value: string;
  options: readonly SelectOption[];
  onChange: (value: string) => void;
}

/** Select without a visible label. `attributes` has its name for screen readers. */
export function Select(
  props: SelectProps & { attributes: Partial<ControlAttributes> & { "aria-label"?: string } },
) {
  const { value, options, onChange, attributes } = props;
  return (
    <select
      {...attributes}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </select>
  );
}

export function SelectField(props: FieldProps & SelectProps) {
  return <Field {...props}>{(attributes) => <Select {...props} attributes={attributes} />}</Field>;
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

/** Returns the lines of a text. Removes the spaces at both ends of each line, and blank lines. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.filter((line) => line !== "");
}

/**
 * Form with a submit button. If `onSubmit` rejects, the form keeps its values and shows the error:
 * at the field whose `path` the error is about, and otherwise below the fields.
 */
export function Form(props: {
  children: ComponentChildren;
  /** Label of the submit button. */
  action: string;
  needs?: Permission | undefined;
  /** Reason why the submit button is disabled. Absent if it can be clicked. */
  disabledReason?: string | undefined;
  onSubmit: () => Promise<unknown>;
  onCancel?: () => void;
  /**
   * Second button, such as one that tests the form's values without saving them. If `run` rejects,
   * the form shows the error.
   */
  trial?: { action: string; run: () => Promise<unknown> };
  /**
   * Fields that both this user and another user have changed. The form lets this user choose the
   * value of each. Undefined if there are none.
   */
  conflict?: Parameters<typeof FieldConflicts>[0] | undefined;
  /** Type of the edited item. When it changes, the form hides the error that it shows, if any. */
  itemType?: string;
  isNarrow?: boolean;
}) {
  const { children, action, needs = "workspace:admin", onSubmit, onCancel, isNarrow } = props;
  const { trial, disabledReason, conflict, itemType } = props;
  const { submit, run, busy, error, clearError } = useSubmit(onSubmit);
  const form = useRef<HTMLFormElement>(null);
  const fields = useSignal<readonly FieldPath[]>([]);
  const focusInvalid = () =>
    form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  useLayoutEffect(clearError, [itemType]);
  return (
    <form ref={form} class={isNarrow ? "form narrow" : "form"} onSubmit={submit}>
      <FormErrors.Provider value={{ error, fields, focusInvalid }}>{children}</FormErrors.Provider>
      {conflict && <FieldConflicts {...conflict} />}
      <ErrorNotice
        error={error}
        isShown={(path) => fields.value.some((field) => concerns(field, path))}
      />
      <div class="ends">
        {onCancel && <Button onClick={onCancel}>{commonTexts.cancel}</Button>}
        {trial && (
          <Button icon="play" needs={needs} onClick={() => run(trial.run)}>
            {trial.action}
          </Button>
        )}
        <Button kind="main" type="submit" needs={needs} disabledReason={disabledReason} busy={busy}>
          {action}
        </Button>
      </div>
    </form>
  );
}
