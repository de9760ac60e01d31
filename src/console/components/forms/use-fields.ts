import { useState } from "preact/hooks";

export type Fields<Values> = ReturnType<typeof useFields<Values>>;

/** Component state for the values of a form's fields, by field name. */
export function useFields<Values>(initial: Values | (() => Values)) {
  const [values, setValues] = useState(initial);
  const set = (change: Partial<Values>) => setValues((before) => ({ ...before, ...change }));
  const setOne = (name: keyof Values) => (value: unknown) =>
    set({ [name]: value } as Partial<Values>);
  return {
    values,
    set,
    /** Returns the properties of the text field with this name. */
    input: (name: keyof Values) => ({ value: values[name] as string, onInput: setOne(name) }),
    /** Returns the properties of the select with this name. */
    select: (name: keyof Values) => ({ value: values[name] as string, onChange: setOne(name) }),
    /** Returns the properties of the checkbox with this name. */
    checkbox: (name: keyof Values) => ({ on: values[name] as boolean, onChange: setOne(name) }),
  };
}
