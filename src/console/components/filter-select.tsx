import { includeCurrent, type SelectOption } from "./forms/fields.tsx";

/** Select that filters a table by one value. The option with the empty value shows all rows. */
export function FilterSelect(props: {
  label: string;
  /** Label of the option that shows all rows. */
  all: string;
  value: string;
  options: readonly SelectOption[];
  onChange: (value: string) => void;
}) {
  const { label, all, value, options, onChange } = props;
  return (
    <select
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      <option value="">{all}</option>
      {includeCurrent(options, value).map((option) => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </select>
  );
}
