import { useEffect, useRef, useState } from "preact/hooks";
import { session } from "../data/session.ts";

/** Unsaved texts, which local storage keeps through a reload, by workspace and name. */

function saveText(name: string, text: string): void {
  try {
    localStorage.setItem(keyOf(name), text);
  } catch {
    // Storage is full or disabled: the text lives as long as the tab.
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
    // Storage is disabled.
  }
}

function keyOf(name: string): string {
  return `pixelmill ${session.value?.workspace.id} ${name}`;
}

/** State of a text that survives a reload while it differs from the saved text. */
export function useUnsavedText(name: string, saved: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => readText(name) ?? saved);
  const before = useRef(saved);
  useEffect(() => {
    // An unchanged text follows the saved one, such as after a rollback.
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
