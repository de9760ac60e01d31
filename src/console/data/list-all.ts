import { client } from "./session.ts";

/** Maximum number of pages that the console fetches of one list. Further items are not shown. */
const PAGES_MAX = 40;

/** Maximum number of items that the server puts on a page of transformations. */
const CODE_PAGE_MAX = 100;

interface ListAnswer {
  paging: { next?: string };
}

/** Fetches the items of a list page by page, up to `PAGES_MAX` pages. */
async function listAll<Answer extends ListAnswer, Item>(
  fetchPage: (query: { page: number }) => Promise<Answer>,
  itemsOf: (answer: Answer) => readonly Item[],
): Promise<Item[]> {
  const items: Item[] = [];
  for (let page = 1; page <= PAGES_MAX; page++) {
    const answer = await fetchPage({ page });
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

/** Names of all transformations, published or not. */
export async function listAllTransformations(): Promise<{ id: string; name: string }[]> {
  const items: { id: string; name: string }[] = [];
  for (let page = 1; page <= PAGES_MAX; page++) {
    const query = { kind: "transformation", page, count: CODE_PAGE_MAX } as const;
    const { code, total } = await client.call("GET /v2/code", { query });
    items.push(...code);
    if (items.length >= total) break;
  }
  return items;
}
