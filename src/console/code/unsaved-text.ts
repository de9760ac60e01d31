import { useEffect, useRef, useState } from "preact/hooks";
import { session } from "../data/session.ts";

/** Texts that a reload must not lose, kept by this browser for a workspace and what they are of. */

export function saveText(name: string, text: string): void {
  try {
    localStorage.setItem(keyOf(name), text);
  } catch {
    // Its room is used up, or it keeps nothing for this page: the text is as safe as the tab is.
  }
}

export function readText(name: string): string | undefined {
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
    // As above.
  }
}

function keyOf(name: string): string {
  return `pixelmill ${session.value?.workspace.id} ${name}`;
}

/** A text that outlives a reload while it differs from what is stored. */
export function useUnsavedText(name: string, stored: string): [string, (text: string) => void] {
  const [text, setText] = useState(() => readText(name) ?? stored);
  const before = useRef(stored);
  useEffect(() => {
    // What is stored has changed, and what is written was that: it was saved, or rolled back.
    if (text === before.current) setText(stored);
    before.current = stored;
  }, [stored]);
  const set = (next: string) => {
    setText(next);
    if (next === stored) discardText(name);
    else saveText(name, next);
  };
  return [text, set];
}
