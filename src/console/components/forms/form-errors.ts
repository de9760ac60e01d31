import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useLayoutEffect } from "preact/hooks";
import { RequestRefused } from "../../../api/client.ts";

/** JSON pointer to the value of a field. With `isList`, the field has a list with all its items. */
export interface FieldPath {
  path: string;
  isList: boolean;
}

/** Error of a form's last submit, and the paths of the fields that the form has. */
export const FormErrors = createContext<
  { error: unknown; fields: Signal<readonly FieldPath[]> } | undefined
>(undefined);

/** Whether an error at the JSON pointer `pointer` concerns the field. */
export const concerns = ({ path, isList }: FieldPath, pointer: string): boolean =>
  pointer === path || (isList && pointer.startsWith(`${path}/`));

/**
 * Returns the message of the form's error for the value at `path`, if there is one. The component
 * that calls this shows it, so the form does not show it a second time. Outside of a form, returns
 * undefined.
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
  if (path === undefined || !(form?.error instanceof RequestRefused)) return undefined;
  return form.error.details.find((detail) => concerns({ path, isList }, detail.path))?.message;
}
