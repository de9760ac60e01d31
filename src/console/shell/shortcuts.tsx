import { signal } from "@preact/signals";
import { Dialog } from "../components/dialog.tsx";
import { FactList } from "../components/layout.tsx";
import { isExpired, session } from "../data/session.ts";
import { shellTexts } from "../texts/shell.ts";
import { openPalette } from "./palette.tsx";

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
 * Registers the keyboard shortcuts of all screens: `Cmd/Ctrl+K` opens the palette (a dialog to find
 * screens and items), `/` focuses the screen's search field, and `?` lists the shortcuts. Returns a
 * function that removes them.
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
