import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useLayoutEffect } from "preact/hooks";
import { RequestRefused } from "../../../api/client.ts";

/**
 * A form field. `path` is the JSON pointer to the field's value in the request's body. With
 * `isList`, the value is a list, and the field also shows the errors of the list's items.
 */
export interface FieldPath {
  path: string;
  isList: boolean;
}

interface FormErrorsOfFields {
  /** Error of the form's last submit or other action, such as a test; undefined if none. */
  error: unknown;
  /** Fields that are in the form at this moment. */
  fields: Signal<readonly FieldPath[]>;
  /** Moves the focus to the first field of the form that shows an error. */
  focusInvalid(): void;
}

export const FormErrors = createContext<FormErrorsOfFields | undefined>(undefined);

/** Whether the field shows an error that the server reports for the JSON pointer `pointer`. */
export const concerns = ({ path, isList }: FieldPath, pointer: string): boolean =>
  pointer === path || (isList && pointer.startsWith(`${path}/`));

/**
 * Returns the form's first error message about the value at `path`, and with `isList` also about
 * its items, or undefined. The caller must show the message, because the form does not repeat it
 * below its fields.
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
