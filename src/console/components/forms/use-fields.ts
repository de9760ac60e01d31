import { useState } from "preact/hooks";

export type Fields<Values> = ReturnType<typeof useFields<Values>>;

/** Component state for the values of a form's fields, by field name. */
export function useFields<Values>(initial: Values) {
  const [values, setValues] = useState(initial);
  const set = (change: Partial<Values>) => setValues((before) => ({ ...before, ...change }));
  return { values, set, ...fieldsOf(values, set) };
}

/**
 * Returns functions that connect a form field to one of `values`. Each returns the field's
 * properties: its value, the callback for changes and its path. `name` is the key of the value in
 * `values`, and `path` the JSON pointer to it in the request's body.
 */
export function fieldsOf<Values>(values: Values, set: (change: Partial<Values>) => void) {
  type Name = keyof Values & string;
  const setOne = (name: Name) => (value: unknown) => set({ [name]: value } as Partial<Values>);
  return {
    input: (name: Name, path = `/${name}`) => ({
      value: values[name] as string,
      onInput: setOne(name),
      path,
    }),
    select: (name: Name, path = `/${name}`) => ({
      value: values[name] as string,
      onChange: setOne(name),
      path,
    }),
    checkbox: (name: Name) => ({ on: values[name] as boolean, onChange: setOne(name) }),
  };
}
