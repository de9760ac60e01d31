import type { ItemLimits } from "../management/item-limits.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";
import { createCommit } from "./commit.ts";
import { openLinks } from "./links.ts";
import { createReads } from "./reads.ts";
import { createRevisions } from "./revisions.ts";

/**
 * Storage of transformations and libraries (both called resources): their revisions, their
 * published versions, and the links of destinations to transformations.
 */
export type CodeStore = ReturnType<typeof openCode>;

export function openCode(
  store: CatalogStore,
  tables: Tables,
  codeTables: CodeTables,
  limits: ItemLimits,
) {
  const reads = createReads(codeTables);
  const { putLink, ...links } = openLinks(store, tables, codeTables);
  return {
    ...reads,
    ...createRevisions(reads.newestRevision),
    ...createCommit(store, codeTables, putLink, limits),
    ...links,
  };
}
