import { signal } from "@preact/signals";
import type { IconName } from "./parts/icon.tsx";
import { to } from "./router.ts";
import { screens } from "./screens.ts";
import { client, lacking } from "./session.ts";

/** Something that the palette can go to. */
export interface Entry {
  href: string;
  title: string;
  kind: string;
  icon: IconName;
}

const FOUND_MAX = 40;
const ASKED_AGAIN_MS = 30_000;

const things = signal<readonly Entry[]>([]);
let askedAt = 0;

/** What a text finds: every word of it in the title or kind; titles that start so come first. */
export function found(text: string): readonly Entry[] {
  if (Date.now() - askedAt > ASKED_AGAIN_MS) void ask();
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = [...ofScreens(), ...actions(), ...things.value];
  const [first = ""] = words;
  return all
    .filter(({ title, kind }) => {
      const where = `${title} ${kind}`.toLowerCase();
      return words.every((word) => where.includes(word));
    })
    .sort((one, other) => Number(starts(other, first)) - Number(starts(one, first)))
    .slice(0, FOUND_MAX);
}

function starts({ title }: Entry, word: string): boolean {
  return word !== "" && title.toLowerCase().startsWith(word);
}

function ofScreens(): Entry[] {
  return screens.map(({ name, title, icon }) => ({ href: to(name), title, icon, kind: "Screen" }));
}

function actions(): Entry[] {
  if (lacking("workspace:admin") !== undefined) return [];
  return [
    { href: to("sources", "new"), title: "New source", kind: "Action", icon: "plus" },
    { href: to("destinations", "new"), title: "New destination", kind: "Action", icon: "plus" },
  ];
}

/** The first page of each list: what is not there is found on its screen. */
async function ask(): Promise<void> {
  askedAt = Date.now();
  const lists = await Promise.allSettled([
    client.call("GET /v2/sources").then(({ sources }) => entries(sources, "sources", "source")),
    client
      .call("GET /v2/destinations")
      .then((it) => entries(it.destinations, "destinations", "destination")),
    client
      .call("GET /transformations")
      .then((it) => entries(it.transformations, "transformations", "code")),
    client.call("GET /libraries").then((it) => entries(it.libraries, "libraries", "library")),
  ]);
  things.value = lists.flatMap((list) => (list.status === "fulfilled" ? list.value : []));
}

const kinds = {
  sources: "Source",
  destinations: "Destination",
  transformations: "Transformation",
  libraries: "Library",
};

function entries(
  list: readonly { id: string; name: string }[],
  screen: keyof typeof kinds,
  icon: IconName,
): Entry[] {
  return list.map(({ id, name }) => ({
    href: to(screen, id),
    title: name,
    kind: kinds[screen],
    icon,
  }));
}
