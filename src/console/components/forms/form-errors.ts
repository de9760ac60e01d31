import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useLayoutEffect } from "preact/hooks";
import { RequestRefused } from "../../../api/client.ts";

/**
 * JSON pointer to the value of a field. With `isList`, the value is a list, and errors of its items
 * belong to the field too.
 */
export interface FieldPath {
  path: string;
  isList: boolean;
}

interface FormErrorsOfFields {
  /** Error of the form's last submit. */
  error: unknown;
  /** Paths of the fields that the form has. */
  fields: Signal<readonly FieldPath[]>;
  /** Moves the focus to the first of the fields that show an error. */
  focusInvalid(): void;
}

export const FormErrors = createContext<FormErrorsOfFields | undefined>(undefined);

/** Whether an error at the JSON pointer `pointer` concerns the field. */
export const concerns = ({ path, isList }: FieldPath, pointer: string): boolean =>
  pointer === path || (isList && pointer.startsWith(`${path}/`));

/**
 * Returns the message of the form's error for the value at `path`, if there is one. The component
 * that calls this function must show the message, and the form does not show it again. Returns
 * undefined outside of a form.
 */
export function useErrorAt(path: string | undefined, isList = false): string | undefined {
  const form = useContext(FormErrors);
  useLayoutEffect(() => {
    if (form === undefined || path === undefined) return;
    const { fields } = form;
    const field = { path, isList };
    fields.value = [...fields.value, field];
    return () => {
      fields.value = fields.value.filter((it) => it !== field);
    };
  }, [path, isList]);
  const error = form?.error;
  const details = path !== undefined && error instanceof RequestRefused ? error.details : [];
  const found = details.find((detail) => concerns({ path: path!, isList }, detail.path));
  useLayoutEffect(() => {
    if (found !== undefined) form?.focusInvalid();
  }, [error]);
  return found?.message;
}
