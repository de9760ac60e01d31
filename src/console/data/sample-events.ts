import { signal } from "@preact/signals";

const STORAGE_KEY = "sample-events";
const EVENTS_MAX = 20;
const STORED_CHARS_MAX = 1_000_000;

/**
 * Events that the user picked in the live tail (stream of new events) or in dead letters (events
 * that were given up), to run code on them. The newest is first. Session storage keeps them when
 * the tab is reloaded.
 */
export const sampleEvents = signal<readonly Record<string, unknown>[]>(readSampleEvents());

export function addSampleEvent(event: unknown): void {
  if (typeof event !== "object" || event === null || Array.isArray(event)) return;
  const events = [event as Record<string, unknown>, ...sampleEvents.value];
  sampleEvents.value = events.slice(0, EVENTS_MAX);
  saveSampleEvents();
}

export function clearSampleEvents(): void {
  sampleEvents.value = [];
  sessionStorage.removeItem(STORAGE_KEY);
}

/** Writes the newest events, up to `STORED_CHARS_MAX` characters, to session storage. */
function saveSampleEvents(): void {
  let chars = 2;
  const stored = sampleEvents.value.filter((event) => {
    chars += JSON.stringify(event).length + 1;
    return chars <= STORED_CHARS_MAX;
  });
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify(stored));
}

function readSampleEvents(): Record<string, unknown>[] {
  try {
    return JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]");
  } catch {
    return [];
  }
}
