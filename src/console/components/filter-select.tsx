import { includeCurrent, Select, type SelectOption } from "./forms/fields.tsx";

/** Select that filters a table by one value. Its first option, an empty value, shows all rows. */
export function FilterSelect(props: {
  label: string;
  /** Label of the option that shows all rows. */
  all: string;
  value: string;
  options: readonly SelectOption[];
  onChange: (value: string) => void;
}) {
  const { label, all, options, ...select } = props;
  return (
    <Select
      {...select}
      attributes={{ "aria-label": label }}
      options={[{ value: "", text: all }, ...includeCurrent(options, props.value)]}
    />
  );
}
