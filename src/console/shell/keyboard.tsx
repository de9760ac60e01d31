import { effect, signal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../components/dialog.tsx";
import { Icon, type IconName } from "../components/icon.tsx";
import { FactList } from "../components/layout.tsx";
import { client, isExpired, missingPermission, session } from "../data/session.ts";
import { hrefTo, navigate } from "../router.ts";
import { screens } from "../screens.ts";
import { commonTexts } from "../texts/common.ts";
import { shellTexts } from "../texts/shell.ts";

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

/**
 * Something that the palette (a dialog that finds things by name) can open: a screen, an action
 * such as a new source, or an item.
 */
interface PaletteEntry {
  href: string;
  title: string;
  kind: string;
  icon: IconName;
  /** Id of the item; the user can also find an item by its id. Absent for a screen or an action. */
  id?: string;
}

const RESULTS_MAX = 40;

/** Entries for the items that the latest search on the server has found. */
const found = signal<readonly PaletteEntry[]>([]);
/** Number of the latest search on the server. The answer to an earlier search is ignored. */
let searches = 0;
// The next user to sign in may not see what this user has found.
effect(() => {
  if (session.value) return;
  searches++;
  found.value = [];
});

/**
 * Returns up to `RESULTS_MAX` palette entries whose title and kind together contain all words of
 * `text`, or whose id is `text`. Titles that start with the first word come first.
 */
export function searchPalette(text: string): readonly PaletteEntry[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const ofScreens = screens.map(({ name, title, icon }): PaletteEntry => {
    return { href: hrefTo(name), title, kind: "Screen", icon };
  });
  const all = [...ofScreens, ...actionEntries(), ...found.value];
  const [first = ""] = words;
  const startsWithWord = ({ title }: PaletteEntry) => Number(title.toLowerCase().startsWith(first));
  return all
    .filter(({ title, kind, id }) => {
      const searched = `${title} ${kind}`.toLowerCase();
      return id === text.trim() || words.every((word) => searched.includes(word));
    })
    .sort((one, other) => startsWithWord(other) - startsWithWord(one))
    .slice(0, RESULTS_MAX);
}

function actionEntries(): PaletteEntry[] {
  if (missingPermission("workspace:admin") !== undefined) return [];
  const titles = { sources: commonTexts.newSource, destinations: commonTexts.newDestination };
  return Object.entries(titles).map(([screen, title]) => {
    return { href: hrefTo(screen, "new"), title, kind: "Action", icon: "plus" };
  });
}

/**
 * Searches the items of all kinds by name on the server. `searchPalette` then includes the items
 * found, in place of those of an earlier search. An empty text finds the first items of each kind.
 */
export async function searchServer(text: string): Promise<void> {
  const number = ++searches;
  const lists = await Promise.allSettled(listItems(text));
  if (number !== searches) return;
  found.value = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
}

/**
 * Kinds of items that the palette finds: the API's name for the kind (`key`), its name in the
 * palette, the first segment of the routes of its items, and its icon.
 */
const itemKinds = [
  { key: "transformation", kind: "Transformation", screen: "transformations", icon: "code" },
  { key: "library", kind: "Library", screen: "libraries", icon: "library" },
  { key: "source", kind: "Source", screen: "sources", icon: "source" },
  { key: "destination", kind: "Destination", screen: "destinations", icon: "destination" },
] as const;

/**
 * Begins a search by name for each kind of item. Each promise resolves with the palette entries for
 * the items of one kind.
 */
function listItems(text: string): Promise<PaletteEntry[]>[] {
  const search = { text: text.trim(), count: RESULTS_MAX };
  return itemKinds.map(async ({ key, kind, screen, icon }) => {
    const items =
      key === "transformation" || key === "library"
        ? (await client.call("GET /v2/code", { query: { ...search, kind: key } })).code
        : (await client.call("GET /v2/status/names", { query: { ...search, kind: key } })).names;
    return items.map(({ id, name }) => ({ href: hrefTo(screen, id), title: name, kind, icon, id }));
  });
}

const isListOpen = signal(false);

export function openShortcuts(): void {
  isListOpen.value = true;
}

/** Dialog that lists the keyboard shortcuts of all screens and of the editor. */
export function ShortcutList() {
  if (!isListOpen.value) return null;
  const close = () => {
    isListOpen.value = false;
  };
  return (
    <Dialog title={shellTexts.shortcuts} onClose={close}>
      {shellTexts.shortcutGroups.map(({ title, keys }) => (
        <section key={title} class="stack close">
          <h3>{title}</h3>
          <FactList
            facts={keys.map(([effect, ...pressed]) => [
              effect,
              pressed.map((key) => <kbd key={key}>{key}</kbd>),
            ])}
          />
        </section>
      ))}
    </Dialog>
  );
}

/**
 * Registers the keyboard shortcuts of all screens, and returns a function that removes them:
 * - `Cmd/Ctrl+K` opens the palette (a dialog to find screens and items).
 * - `/` focuses the search field or, without one, opens the palette.
 * - `?` lists the shortcuts.
 */
export function listenForShortcuts(): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (session.value === null || isExpired.value) return;
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openPalette();
      return;
    }
    if (isTyping(event) || document.querySelector("dialog[open]")) return;
    if (event.key !== "/" && event.key !== "?") return;
    event.preventDefault();
    const search = document.querySelector<HTMLInputElement>("main input[type=search]");
    if (event.key === "?") openShortcuts();
    else if (search) search.focus();
    else openPalette();
  };
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

function isTyping(event: KeyboardEvent): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
