import { useEffect, useState } from "preact/hooks";
import type { AnswerOf } from "../api/client.ts";
import { client, lacking } from "./session.ts";

export type Source = AnswerOf<"GET /v2/sources">["sources"][number];
export type Destination = AnswerOf<"GET /v2/destinations">["destinations"][number];
export type Connection = AnswerOf<"GET /v2/connections">["connections"][number];

/** Pages of a list that are asked for at most: what is beyond is found by the API alone. */
const PAGES_MAX = 40;

interface Listed {
  paging: { next?: string };
}

/** All items of a list, page after page. */
async function every<Answer extends Listed, Item>(
  page: (query: { page: number }) => Promise<Answer>,
  itemsOf: (answer: Answer) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  for (let number = 1; number <= PAGES_MAX; number++) {
    const answer = await page({ page: number });
    items.push(...itemsOf(answer));
    if (answer.paging.next === undefined) break;
  }
  return items;
}

export const everySource = () =>
  every(
    (query) => client.call("GET /v2/sources", { query }),
    (answer) => answer.sources,
  );
export const everyDestination = () =>
  every(
    (query) => client.call("GET /v2/destinations", { query }),
    (answer) => answer.destinations,
  );
export const everyConnection = () =>
  every(
    (query) => client.call("GET /v2/connections", { query }),
    (answer) => answer.connections,
  );

export interface Names {
  source(id: string): string;
  destination(id: string): string;
  sources: readonly Source[];
  destinations: readonly Destination[];
}

const nameless: Names = named([], []);

/** Names instead of ids, where the reader may see them; until they are known, the ids. */
export function useNames(): Names {
  const [names, setNames] = useState(nameless);
  useEffect(() => {
    if (lacking("workspace:admin") !== undefined) return;
    Promise.all([everySource(), everyDestination()]).then(
      ([sources, destinations]) => setNames(named(sources, destinations)),
      // Without names there are ids.
      () => {},
    );
  }, []);
  return names;
}

function named(sources: readonly Source[], destinations: readonly Destination[]): Names {
  const map = new Map([...sources, ...destinations].map(({ id, name }) => [id, name]));
  const nameOf = (id: string) => map.get(id) ?? id;
  return { source: nameOf, destination: nameOf, sources, destinations };
}

/** What a text finds in a list, by name or id. */
export function matching<T extends { id: string; name: string }>(
  items: readonly T[] | undefined,
  text: string,
): readonly T[] | undefined {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return items;
  return items?.filter(({ id, name }) => name.toLowerCase().includes(wanted) || id === text.trim());
}
