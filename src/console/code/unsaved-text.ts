import { useEffect, useRef, useState } from "preact/hooks";
import { session } from "../data/session.ts";

/**
 * Functions that keep unsaved texts in the browser's local storage. A reload of the page does not
 * lose the texts. Their keys consist of the workspace id and the name.
 */

function saveText(name: string, text: string): void {
  try {
    localStorage.setItem(keyOf(name), text);
  } catch {
    // Local storage is full or disabled. The text is lost when the tab is closed or reloaded.
  }
}

function readText(name: string): string | undefined {
  try {
    return localStorage.getItem(keyOf(name)) ?? undefined;
  } catch {
    return undefined;
  }
}

export function discardText(name: string): void {
  try {
    localStorage.removeItem(keyOf(name));
  } catch {
    // Local storage is disabled and holds no text.
  }
}

function keyOf(name: string): string {
  return `pixelmill ${session.value?.workspace.id} ${name}`;
}

/**
 * Component state for a text that the user edits. While the text differs from the saved text, it
 * survives a reload of the page.
 */
export function useUnsavedText(name: string, saved: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => readText(name) ?? saved);
  const before = useRef(saved);
  useEffect(() => {
    // A text that the user has not edited follows the saved text, such as after a rollback.
    if (text === before.current) setText(saved);
    before.current = saved;
  }, [saved]);
  const set = (next: string) => {
    setText(next);
    if (next === saved) discardText(name);
    else saveText(name, next);
  };
  return [text, set];
}
