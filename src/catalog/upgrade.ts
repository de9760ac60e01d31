import { SHARED_FORMAT } from "../store/ordered/change-set.ts";
import type { CatalogStore } from "./store.ts";

/**
 * Names of the steps by which earlier releases upgraded catalogs. This release runs none of the
 * steps. It only stores their names in each catalog, because an earlier release that opens the
 * catalog would otherwise run the steps.
 */
const steps: readonly string[] = [
  // This row is stored before any other row in the new format: older nodes stop at it.
  `format ${SHARED_FORMAT}`,
  "events:replay is a permission of its own",
  "drafts are listed by workspace",
  "sources, destinations and connections are listed by their external ids",
  "revisions are counted by workspace",
  "sources, destinations and connections are found by their external ids",
  "workspace-config:read is a permission of its own",
];

/** Stores the names of all upgrade steps; runs none. Several processes may call this at once. */
export async function recordUpgradeSteps(store: CatalogStore): Promise<void> {
  const done = store.table<true, string>("upgrades");
  if (steps.every((name) => done.get(name))) return;
  await store.change(() => {
    for (const name of steps) done.put(name, true);
  });
}
