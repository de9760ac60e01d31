import { signal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../components/icon.tsx";
import { navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { shellTexts } from "../texts/shell.ts";
import { searchPalette, searchServer } from "./palette-search.ts";

const isOpen = signal(false);

export function openPalette(): void {
  isOpen.value = true;
}

export function Palette() {
  return isOpen.value ? <PaletteDialog /> : null;
}

/** Dialog that finds screens, actions and items by name. It can be used with the keyboard alone. */
function PaletteDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [selected, setSelected] = useState(0);
  const id = useId();
  const entries = searchPalette(text);
  const at = Math.min(selected, Math.max(0, entries.length - 1));

  useLayoutEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    void searchServer("");
    // The end of the session removes the dialog without closing it.
    return () => {
      isOpen.value = false;
    };
  }, []);
  useEffect(() => {
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: "nearest" });
  }, [at]);

  function open(index: number) {
    const entry = entries[index];
    if (!entry) return;
    dialog.current?.close();
    navigate(entry.href);
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) setSelected((at + step + entries.length) % Math.max(1, entries.length));
    else if (event.key === "Enter") open(at);
    else return;
    event.preventDefault();
  }

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself
    <dialog
      ref={dialog}
      class="palette"
      aria-label={commonTexts.search}
      onClick={(event) => event.target === dialog.current && dialog.current?.close()}
      onClose={() => {
        isOpen.value = false;
      }}
    >
      <input
        role="combobox"
        aria-label={shellTexts.paletteLabel}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={entries.length > 0 ? `${id}-${at}` : undefined}
        placeholder={shellTexts.palettePlaceholder}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          void searchServer(event.currentTarget.value);
          setSelected(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} class="choices" role="listbox" aria-label={commonTexts.results}>
        {entries.map(({ href, title, kind, icon }, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input handles the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the input has the focus
          <div
            key={href}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === at}
            onClick={() => open(index)}
            onPointerMove={() => setSelected(index)}
          >
            <Icon name={icon} />
            <span class="cut">{title}</span>
            <span class="quiet small">{kind}</span>
          </div>
        ))}
      </div>
      {entries.length === 0 && <p class="empty quiet">{commonTexts.noResultsFor(text)}</p>}
    </dialog>
  );
}
