import { signal } from "@preact/signals";

/**
 * Events that the reader picked to try code on, from the live tail or a dead letter. They are kept
 * for this tab alone, over a reload too.
 */
export interface SampleEvent {
  event: Record<string, unknown>;
  /** Where it was picked: `Live tail`, `Dead letter`. */
  from: string;
  /** Milliseconds since the epoch. */
  pickedAt: number;
}

const KEY = "picked-events";
const PICKED_MAX = 20;
const PICKED_CHARS_MAX = 1_000_000;

/** Newest first. */
export const sampleEvents = signal<readonly SampleEvent[]>(readSampleEvents());

export function addSampleEvent(event: unknown, from: string): void {
  if (typeof event !== "object" || event === null || Array.isArray(event)) return;
  const next = { event: event as Record<string, unknown>, from, pickedAt: Date.now() };
  sampleEvents.value = [next, ...sampleEvents.value].slice(0, PICKED_MAX);
  saveSampleEvents();
}

export function clearSampleEvents(): void {
  sampleEvents.value = [];
  sessionStorage.removeItem(KEY);
}

/** The newest ones that there is room for. */
function saveSampleEvents(): void {
  let chars = 2;
  const kept = sampleEvents.value.filter((it) => {
    chars += JSON.stringify(it).length + 1;
    return chars <= PICKED_CHARS_MAX;
  });
  sessionStorage.setItem(KEY, JSON.stringify(kept));
}

function readSampleEvents(): SampleEvent[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}
