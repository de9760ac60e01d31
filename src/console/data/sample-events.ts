import { computed, signal } from "@preact/signals";
import { parseToShow } from "../../api/client.ts";

const STORAGE_KEY = "sample-events";
const EVENTS_MAX = 20;
const STORED_CHARS_MAX = 1_000_000;

interface StoredEvents {
  /** Id of the workspace to which the events belong. Undefined until a user has signed in. */
  workspaceId?: string;
  events: readonly Record<string, unknown>[];
}

const stored = signal<StoredEvents>(readStored());

/**
 * Events that the user picked to run code on them, newest first. Session storage keeps them when
 * the tab is reloaded.
 */
export const sampleEvents = computed(() => stored.value.events);

/** Deletes the sample events if they were picked in another workspace. Called at sign-in. */
export function claimSampleEvents(workspaceId: string): void {
  if (stored.value.workspaceId !== workspaceId) clearSampleEvents();
  stored.value = { ...stored.value, workspaceId };
}

export function addSampleEvent(event: unknown): void {
  if (typeof event !== "object" || event === null || Array.isArray(event)) return;
  const events = [event as Record<string, unknown>, ...sampleEvents.value];
  stored.value = { ...stored.value, events: events.slice(0, EVENTS_MAX) };
  saveSampleEvents();
}

export function clearSampleEvents(): void {
  stored.value = { events: [] };
  sessionStorage.removeItem(STORAGE_KEY);
}

/**
 * Writes the sample events to session storage as JSON. Leaves out the oldest ones if the JSON would
 * otherwise have more than `STORED_CHARS_MAX` characters.
 */
function saveSampleEvents(): void {
  let chars = 2;
  const { workspaceId, events } = stored.value;
  const kept = events.filter((event) => {
    chars += JSON.stringify(event).length + 1;
    return chars <= STORED_CHARS_MAX;
  });
  sessionStorage.setItem(STORAGE_KEY, JSON.stringify({ workspaceId, events: kept }));
}

function readStored(): StoredEvents {
  try {
    return parseToShow(sessionStorage.getItem(STORAGE_KEY) ?? '{"events":[]}') as StoredEvents;
  } catch {
    return { events: [] };
  }
}
