import { useState } from "preact/hooks";
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

/**
 * Component state for a list in pages with a search field: the searched text and the number of the
 * page. `search` has the properties of the field. Typing opens the first page.
 */
export function useSearchedPages() {
  const [text, setText] = useState("");
  const [page, setPage] = useState(1);
  function onInput(typed: string): void {
    setText(typed);
    setPage(1);
  }
  return { text, page, setPage, search: { value: text, onInput } };
}
