import { Icon } from "./icon.tsx";

/** Search field of a screen. The `/` key focuses it. */
export function SearchField(props: {
  label: string;
  value: string;
  onInput: (text: string) => void;
}) {
  const { label, value, onInput } = props;
  return (
    <div class="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}
