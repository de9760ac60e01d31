import { signal } from "@preact/signals";
import type { IconName } from "../components/icon.tsx";
import { client, missingPermission } from "../data/session.ts";
import { hrefTo } from "../router.ts";
import { screens } from "../screens.ts";

/** Something that the palette can go to. */
export interface PaletteEntry {
  href: string;
  title: string;
  kind: string;
  icon: IconName;
}

const FOUND_MAX = 40;
const ASKED_AGAIN_MS = 30_000;

const things = signal<readonly PaletteEntry[]>([]);
let askedAt = 0;

/** What a text finds: every word of it in the title or kind; titles that start so come first. */
export function searchPalette(text: string): readonly PaletteEntry[] {
  if (Date.now() - askedAt > ASKED_AGAIN_MS) void fetchItems();
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...screenEntries(), ...actionEntries(), ...things.value];
  const [first = ""] = words;
  return all
    .filter(({ title, kind }) => {
      const where = `${title} ${kind}`.toLowerCase();
      return words.every((word) => where.includes(word));
    })
    .sort((one, other) => Number(startsWithWord(other, first)) - Number(startsWithWord(one, first)))
    .slice(0, FOUND_MAX);
}

function startsWithWord({ title }: PaletteEntry, word: string): boolean {
  return word !== "" && title.toLowerCase().startsWith(word);
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

/** The first page of each list: what is not there is found on its screen. */
async function fetchItems(): Promise<void> {
  askedAt = Date.now();
  const lists = await Promise.allSettled([
    client.call("GET /v2/sources").then(({ sources }) => entriesOf(sources, "sources", "source")),
    client
      .call("GET /v2/destinations")
      .then((it) => entriesOf(it.destinations, "destinations", "destination")),
    client
      .call("GET /transformations")
      .then((it) => entriesOf(it.transformations, "transformations", "code")),
    client.call("GET /libraries").then((it) => entriesOf(it.libraries, "libraries", "library")),
  ]);
  things.value = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
}

const kindNames = {
  sources: "Source",
  destinations: "Destination",
  transformations: "Transformation",
  libraries: "Library",
};

function entriesOf(
  list: readonly { id: string; name: string }[],
  screen: keyof typeof kindNames,
  icon: IconName,
): PaletteEntry[] {
  return list.map(({ id, name }) => ({
    href: hrefTo(screen, id),
    title: name,
    kind: kindNames[screen],
    icon,
  }));
}
