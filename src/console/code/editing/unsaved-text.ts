import { useEffect, useRef, useState } from "preact/hooks";
import { ownerOf, session } from "../../data/session.ts";

/**
 * Functions that keep unsaved texts, such as edited code, in the browser's local storage, so that a
 * reload of the page does not lose them. The key of a text consists of the owner of the session and
 * the text's name, because another member of the workspace is possibly not allowed to read the
 * events in a text.
 */

/**
 * Milliseconds without input after which a text is written to local storage. Writing long texts is
 * slow, so not every key press writes the text.
 */
const WRITE_DELAY_MS = 300;

/** Texts that wait to be written to local storage, by key. */
const unwritten = new Map<string, string>();
let writing: ReturnType<typeof setTimeout> | undefined;

export function saveText(name: string, text: string): void {
  unwritten.set(keyOf(name), text);
  clearTimeout(writing);
  writing = setTimeout(writeAll, WRITE_DELAY_MS);
}

function writeAll(): void {
  for (const [key, text] of unwritten) {
    try {
      localStorage.setItem(key, text);
      unwritten.delete(key);
    } catch {
      // Local storage is full or disabled. The text is lost when the tab is closed or reloaded.
    }
  }
}

// A page that is hidden may be closed without another event.
document.addEventListener("visibilitychange", writeAll);
addEventListener("pagehide", writeAll);

function readText(name: string): string | undefined {
  const key = keyOf(name);
  try {
    return unwritten.get(key) ?? localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function discardText(name: string): void {
  unwritten.delete(keyOf(name));
  try {
    localStorage.removeItem(keyOf(name));
  } catch {
    // Local storage is disabled and holds no text.
  }
}

function keyOf(name: string): string {
  return ["pixelmill", session.value && ownerOf(session.value), name].join(" ");
}

/**
 * Returns the name under which an unsaved text of the transformation or library `id` is stored:
 * - `code`: the edited code
 * - `base`: the id of the revision that this code is based on
 * - `events`: the test events
 * - `trial`: the code of a transformation that calls the library in test runs
 */
export const textName = (text: "code" | "base" | "events" | "trial", id: string) => `${text} ${id}`;

/**
 * Component state for a text that the user edits: the text, and a function that replaces it. While
 * the text differs from `saved` (the text on the server), the browser keeps it across reloads of
 * the page.
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

/**
 * Component state for the id of the revision that an edited text is based on: the id, and a
 * function that replaces it. The id is `versionId` while the text has no edits. During edits, only
 * the function changes it, and the browser keeps it across reloads of the page.
 */
export function useTextBase(name: string, versionId: string, isEdited: boolean) {
  const [base, setBase] = useState(() => readText(name) ?? versionId);
  useEffect(() => {
    if (isEdited) return saveText(name, base);
    discardText(name);
    setBase(versionId);
  }, [name, versionId, isEdited, base]);
  return [base, setBase] as const;
}
