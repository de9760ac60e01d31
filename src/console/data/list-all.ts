import { useEffect, useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { client, missingPermission } from "./session.ts";

export type Source = AnswerOf<"GET /v2/sources">["sources"][number];
export type Destination = AnswerOf<"GET /v2/destinations">["destinations"][number];
export type Connection = AnswerOf<"GET /v2/connections">["connections"][number];

/** Pages of a list that are asked for at most: what is beyond is found by the API alone. */
const PAGES_MAX = 40;

interface ListAnswer {
  paging: { next?: string };
}

/** All items of a list, page after page. */
async function listAll<Answer extends ListAnswer, Item>(
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

export const listAllSources = () =>
  listAll(
    (query) => client.call("GET /v2/sources", { query }),
    (answer) => answer.sources,
  );
export const listAllDestinations = () =>
  listAll(
    (query) => client.call("GET /v2/destinations", { query }),
    (answer) => answer.destinations,
  );
export const listAllConnections = () =>
  listAll(
    (query) => client.call("GET /v2/connections", { query }),
    (answer) => answer.connections,
  );

export interface NameLookup {
  source(id: string): string;
  destination(id: string): string;
  sources: readonly Source[];
  destinations: readonly Destination[];
}

const emptyLookup: NameLookup = createLookup([], []);

/** Names instead of ids, where the reader may see them; until they are known, the ids. */
export function useNames(): NameLookup {
  const [names, setNames] = useState(emptyLookup);
  useEffect(() => {
    if (missingPermission("workspace:admin") !== undefined) return;
    Promise.all([listAllSources(), listAllDestinations()]).then(
      ([sources, destinations]) => setNames(createLookup(sources, destinations)),
      // Without names there are ids.
      () => {},
    );
  }, []);
  return names;
}

function createLookup(sources: readonly Source[], destinations: readonly Destination[]): NameLookup {
  const map = new Map([...sources, ...destinations].map(({ id, name }) => [id, name]));
  const nameOf = (id: string) => map.get(id) ?? id;
  return { source: nameOf, destination: nameOf, sources, destinations };
}

/** What a text finds in a list, by name or id. */
export function filterByNameOrId<T extends { id: string; name: string }>(
  items: readonly T[] | undefined,
  text: string,
): readonly T[] | undefined {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return items;
  return items?.filter(({ id, name }) => name.toLowerCase().includes(wanted) || id === text.trim());
}
