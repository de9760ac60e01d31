import { includeCurrent, type SelectOption } from "./forms/fields.tsx";

/** Select of a table's filter; the empty value selects all. */
export function FilterSelect(props: {
  label: string;
  /** Text of the empty value. */
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
