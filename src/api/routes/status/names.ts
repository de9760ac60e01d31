import { Type } from "@sinclair/typebox";
import type { Catalog } from "../../../catalog/catalog.ts";
import { ApiError } from "../../../errors.ts";
import { ID_CHARS_MAX, STATUS_PAGE_MAX } from "../../../settings/limits.ts";
import { oneOf } from "../../../settings/schema-types.ts";
import {
  matching,
  pageOf,
  type SearchedItem,
  searchedListQuery,
  sortRows,
} from "../../request/list-query.ts";
import { route } from "../../route.ts";
import { exampleSource, Named } from "./status-schema.ts";

const namedKinds = ["source", "destination", "transformation"] as const;
type NamedKind = (typeof namedKinds)[number];

/**
 * Route that returns only ids and names of items. With it, the console searches thousands of items,
 * and shows names in place of ids.
 */
export const nameRoutes = [
  route("GET /v2/status/names", {
    summary:
      "List names of sources, destinations or transformations: of a search in pages, or of some ids",
    needs: [],
    needsOneOf: ["events:read", "workspace:admin"],
    query: {
      kind: Type.Optional(oneOf(namedKinds, { default: "source" })),
      ...searchedListQuery,
      ids: Type.Optional(
        Type.String({
          maxLength: STATUS_PAGE_MAX * (ID_CHARS_MAX + 1),
          description: `At most ${STATUS_PAGE_MAX} ids with commas between them, whose names are asked for`,
        }),
      ),
    },
    answer: Type.Object({
      names: Type.Array(Named, { description: "By name; those of unknown ids are absent" }),
      total: Type.Integer({ description: "Number of names that match, on all pages" }),
    }),
    example: {
      answer: { names: [{ id: exampleSource.id, name: exampleSource.name }], total: 1 },
    },
    async handle({ deps: { catalog, limiters }, workspaceId, query, request }) {
      const items = namedItems(catalog, query.kind ?? "source");
      if (query.ids !== undefined) {
        const ids = query.ids.split(",");
        if (ids.length > STATUS_PAGE_MAX) {
          const message = `Expected at most ${STATUS_PAGE_MAX} ids, got ${ids.length}`;
          throw new ApiError("invalid", message, [{ path: "?ids", message }]);
        }
        const names = items.withIds(workspaceId, [...new Set(ids)]).map(namedOf);
        return { names: sortRows(names, "name", byName), total: names.length };
      }
      const matches = matching(query.text);
      const found: SearchedItem[] = [];
      const add = (item: SearchedItem) => matches(item) && found.push(namedOf(item));
      await limiters.listSlices.each(items.each(workspaceId), add, request.signal);
      sortRows(found, "name", byName);
      return { names: pageOf(found, query), total: found.length };
    },
  }),
] as const;

const byName = { name: ({ name }: SearchedItem) => name };
/** Returns only the id and the name of an item. */
export const namedOf = ({ id, name }: SearchedItem): SearchedItem => ({ id, name });

interface NamedItems {
  withIds(workspaceId: string, ids: readonly string[]): SearchedItem[];
  each(workspaceId: string): Iterable<SearchedItem>;
}

/**
 * Returns the functions that read items of one kind, with their names, from the catalog. A
 * transformation has the name of its published revision. A draft has the name of its newest
 * revision.
 */
export function namedItems(catalog: Catalog, kind: NamedKind): NamedItems {
  if (kind !== "transformation") return catalog[`${kind}s`];
  const { code } = catalog;
  return {
    withIds: (workspaceId, ids) =>
      code.withIds(workspaceId, kind, ids).map(({ revision }) => revision),
    *each(workspaceId) {
      for (const { revision } of code.listPublished(workspaceId, kind)) yield revision;
      for (const { revision } of code.listDrafts(workspaceId, kind)) yield revision;
    },
  };
}
