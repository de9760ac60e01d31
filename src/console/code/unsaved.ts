import { session } from "../session.ts";

/** Texts that a reload must not lose, kept by this browser for a workspace and what they are of. */

export function keep(name: string, text: string): void {
  try {
    localStorage.setItem(keyOf(name), text);
  } catch {
    // Its room is used up, or it keeps nothing for this page: the text is as safe as the tab is.
  }
}

export function kept(name: string): string | undefined {
  try {
    return localStorage.getItem(keyOf(name)) ?? undefined;
  } catch {
    return undefined;
  }
}

export function forget(name: string): void {
  try {
    localStorage.removeItem(keyOf(name));
  } catch {
    // As above.
  }
}

function keyOf(name: string): string {
  return `pixelmill ${session.value?.workspace.id} ${name}`;
}

const OFFERED = "test event";

/** Takes an event to the next editor that opens, as what its code is tested with. */
export function offerTestEvent(event: unknown): void {
  keep(OFFERED, JSON.stringify(event));
}

/** The event that was taken along, once. */
export function takeTestEvent(): string | undefined {
  const text = kept(OFFERED);
  forget(OFFERED);
  return text;
}
