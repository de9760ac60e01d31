import { useEffect, useId, useRef, useState } from "preact/hooks";
import {
  type Named,
  type NameSearch,
  type SearchedKind,
  useNameSearch,
} from "../data/use-name-search.ts";
import { isolated } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { errorMessage } from "./error-notice.tsx";
import { Field, type FieldProps, includeCurrent, optionsOf, Select } from "./forms/fields.tsx";
import { Name } from "./name.tsx";

/**
 * Maximum number of items for a plain select that lists all names. With more items, a search field
 * takes its place.
 */
const LISTED_MAX = 50;

interface SelectProps {
  label: string;
  /** Id of the selected item. Empty if none is selected. */
  value: string;
  /** Text of the option for no item, such as `All sources`. Absent if an item must be selected. */
  none?: string;
  onChange: (id: string) => void;
}

type NameFieldProps = SelectProps & Pick<FieldProps, "hint" | "path" | "isList">;

/**
 * Properties of a field that selects an item by its name:
 * - `names`: the names found so far, and functions to search and to load more.
 * - `without`: ids of items that the field does not offer.
 */
interface Searched {
  names: NameSearch;
  without?: ReadonlySet<string>;
}

/** Select that filters a table by one item, such as a source or a destination. */
export function NameFilter(props: SelectProps & { kind: SearchedKind }) {
  const names = useNameSearch(props.kind);
  return <NameSelect {...props} names={names} attributes={{ "aria-label": props.label }} />;
}

/** Form field in which the user selects an item by its name. Its value is the item's id. */
export function NameField(props: NameFieldProps & { kind: SearchedKind }) {
  return <SearchedNameField {...props} names={useNameSearch(props.kind)} />;
}

/**
 * Form field like `NameField`, but the caller provides the search for names (`names`). The caller
 * can thus also use what the search finds.
 */
export function SearchedNameField(props: NameFieldProps & Searched) {
  return (
    <Field {...props} error={errorOf(props.names)}>
      {(attributes) => <NameSelect {...props} attributes={attributes} />}
    </Field>
  );
}

const errorOf = ({ error }: NameSearch) => (error === undefined ? undefined : errorMessage(error));

type ControlProps = SelectProps & Searched & Pick<Parameters<typeof Select>[0], "attributes">;

/** Plain select if there are at most `LISTED_MAX` items, otherwise a field that searches names. */
function NameSelect(props: ControlProps) {
  const { value, names, none, without, onChange, attributes } = props;
  if ((names.all ?? 0) > LISTED_MAX) return <Combobox {...props} />;
  const items = optionsOf((names.found ?? []).filter(({ id }) => !without?.has(id)));
  const options = [
    ...(none === undefined ? [] : [{ value: "", text: none }]),
    ...includeCurrent(items, value, isolated(names.nameOf(value))),
  ];
  return <Select value={value} options={options} onChange={onChange} attributes={attributes} />;
}

/**
 * Row in the list of choices. The row is one of three: an item, the option for no item (with an
 * empty id), or, with `more`, a command that loads more items (also with an empty id).
 */
type Row = Named & { more?: true };

/** Field in which the user types part of a name, and selects an item that the server finds. */
function Combobox(props: ControlProps) {
  const { value, names, none, onChange, attributes } = props;
  const [text, setText] = useState<string>();
  const [selected, setSelected] = useState(0);
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const isOpen = text !== undefined;
  const name = value === "" ? "" : names.nameOf(value);
  const rows = rowsOf(props);
  const at = Math.min(selected, rows.length - 1);
  useEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [at, isOpen]);

  function write(next: string | undefined): void {
    setText(next);
    setSelected(0);
    names.search(next ?? "");
  }
  function choose(row: Row | undefined): void {
    if (row === undefined) return;
    if (row.more) names.loadMore();
    else {
      onChange(row.id);
      write(undefined);
    }
  }
  function onKeyDown(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && isOpen) {
      setSelected((at + step + rows.length) % Math.max(1, rows.length));
    } else if (step !== undefined) write("");
    // While `names.isCurrent` is false, the names were found for an earlier text, and the user
    // does not mean one of them.
    else if (event.key === "Enter" && isOpen) choose(names.isCurrent ? rows[at] : undefined);
    else if (event.key === "Escape" && isOpen) write(undefined);
    else return;
    event.preventDefault();
  }

  return (
    <div class="combobox">
      <input
        {...attributes}
        role="combobox"
        type="text"
        autoComplete="off"
        spellcheck={false}
        aria-expanded={isOpen}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={isOpen && rows.length > 0 ? `${listId}-${at}` : undefined}
        placeholder={isOpen ? name || none : none}
        value={text ?? name}
        onClick={() => !isOpen && write("")}
        onInput={({ currentTarget }) => write(currentTarget.value)}
        onKeyDown={onKeyDown}
        onBlur={() => isOpen && write(undefined)}
      />
      <div
        id={listId}
        ref={list}
        class="choices"
        role="listbox"
        aria-label={props.label}
        hidden={!isOpen}
      >
        {rows.map((row, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the input has the focus
          <div
            key={row.id || row.name}
            id={`${listId}-${index}`}
            class={row.more ? "quiet" : undefined}
            role="option"
            aria-selected={index === at}
            // The input keeps the focus.
            onPointerDown={(event) => event.preventDefault()}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(row)}
            onPointerMove={() => setSelected(index)}
          >
            <Name cut>{row.name}</Name>
          </div>
        ))}
      </div>
      {isOpen && rows.length === 0 && <p class="quiet none">{commonTexts.noResultsFor(text)}</p>}
    </div>
  );
}

function rowsOf({ names, none, without }: SelectProps & Searched): Row[] {
  const { found = [], total } = names;
  const left = total - found.length;
  return [
    ...(none === undefined ? [] : [{ id: "", name: none }]),
    ...found.filter(({ id }) => !without?.has(id)),
    ...(left > 0 ? [{ id: "", name: commonTexts.moreNames(left), more: true as const }] : []),
  ];
}
