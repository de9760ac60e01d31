import { signal } from "@preact/signals";
import type { IconName } from "../components/icon.tsx";
import { client, missingPermission } from "../data/session.ts";
import { hrefTo } from "../router.ts";
import { screens } from "../screens.ts";

/** Screen, action or item that the palette (a dialog to find them by name) can open. */
interface PaletteEntry {
  href: string;
  title: string;
  kind: string;
  icon: IconName;
}

const RESULTS_MAX = 40;
const CACHE_MS = 30_000;

/**
 * Sources, destinations, transformations and libraries that the palette (a dialog to find them by
 * name) offers.
 */
const items = signal<readonly PaletteEntry[]>([]);
const requestedAt = signal(0);

/**
 * Returns the palette entries whose title or kind contains every word of the text. Entries whose
 * title starts with the first word come first.
 */
export function searchPalette(text: string): readonly PaletteEntry[] {
  if (Date.now() - requestedAt.peek() > CACHE_MS) void fetchItems();
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...screenEntries(), ...actionEntries(), ...items.value];
  const [first = ""] = words;
  const startsWithWord = ({ title }: PaletteEntry) =>
    Number(first !== "" && title.toLowerCase().startsWith(first));
  return all
    .filter(({ title, kind }) => {
      const searched = `${title} ${kind}`.toLowerCase();
      return words.every((word) => searched.includes(word));
    })
    .sort((one, other) => startsWithWord(other) - startsWithWord(one))
    .slice(0, RESULTS_MAX);
}

function screenEntries(): PaletteEntry[] {
  return screens.map(({ name, title, icon }) => ({
    href: hrefTo(name),
    title,
    icon,
    kind: "Screen",
  }));
}

function actionEntries(): PaletteEntry[] {
  if (missingPermission("workspace:admin") !== undefined) return [];
  return [
    { href: hrefTo("sources", "new"), title: "New source", kind: "Action", icon: "plus" },
    { href: hrefTo("destinations", "new"), title: "New destination", kind: "Action", icon: "plus" },
  ];
}

/**
 * Fetches the first page of each list for the palette. The palette does not offer items of further
 * pages.
 */
async function fetchItems(): Promise<void> {
  requestedAt.value = Date.now();
  const lists = await Promise.allSettled([
    client.call("GET /v2/sources").then((it) => entriesOf("source", it.sources)),
    client.call("GET /v2/destinations").then((it) => entriesOf("destination", it.destinations)),
    client.call("GET /transformations").then((it) => entriesOf("code", it.transformations)),
    client.call("GET /libraries").then((it) => entriesOf("library", it.libraries)),
  ]);
  items.value = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
}

const kinds = {
  source: { screen: "sources", kind: "Source" },
  destination: { screen: "destinations", kind: "Destination" },
  code: { screen: "transformations", kind: "Transformation" },
  library: { screen: "libraries", kind: "Library" },
} as const;

function entriesOf(
  icon: keyof typeof kinds,
  list: readonly { id: string; name: string }[],
): PaletteEntry[] {
  const { screen, kind } = kinds[icon];
  return list.map(({ id, name }) => ({ href: hrefTo(screen, id), title: name, kind, icon }));
}
