import type { ItemLimits } from "../management/item-limits.ts";
import type { CatalogStore } from "../store.ts";
import type { CodeTables } from "../tables/code-tables.ts";
import type { Tables } from "../tables/tables.ts";
import type { CodeStore } from "./code-store.ts";
import { createCommit } from "./commit.ts";
import { openLinks } from "./links.ts";
import { createReads } from "./reads.ts";
import { createRemoval } from "./removal.ts";
import { createRevisions } from "./revisions.ts";

export function openCode(
  store: CatalogStore,
  tables: Tables,
  codeTables: CodeTables,
  limits: ItemLimits,
): CodeStore {
  const reads = createReads(codeTables);
  const { linking, ...links } = openLinks(store, tables, codeTables);
  return {
    ...reads,
    ...createRevisions(reads.newestRevision),
    ...createCommit(store, codeTables, linking, limits),
    ...links,
    ...createRemoval(store, codeTables),
  };
}
