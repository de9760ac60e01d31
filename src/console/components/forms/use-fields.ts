import { useState } from "preact/hooks";

export type Fields<Values> = ReturnType<typeof useFields<Values>>;

/** Component state for the values of a form's fields, by field name. */
export function useFields<Values>(initial: Values) {
  const [values, setValues] = useState(initial);
  const set = (change: Partial<Values>) => setValues((before) => ({ ...before, ...change }));
  return { values, set, ...fieldsOf(values, set) };
}

/**
 * Returns functions that connect form fields to `values`. Each takes a value's `name` and returns
 * the field's properties. `path` is the JSON pointer to the value in the request's body, by default
 * `/` and the name.
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
