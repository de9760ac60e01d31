import type { CodeStore } from "./catalog.ts";
import { committer } from "./code/commit.ts";
import { openLinks } from "./code/links.ts";
import { codeReads } from "./code/reads.ts";
import { remover } from "./code/removal.ts";
import { revisionMaker } from "./code/revisions.ts";
import type { CodeTables } from "./code/tables.ts";
import type { Store } from "./store.ts";
import type { Tables } from "./tables.ts";

export function openCode(store: Store, tables: Tables, codeTables: CodeTables): CodeStore {
  const reads = codeReads(codeTables);
  const { linking, ...links } = openLinks(store, tables, codeTables);
  return {
    ...reads,
    ...revisionMaker(reads.newest),
    ...committer(store, codeTables, linking),
    ...links,
    ...remover(store, codeTables),
  };
}
