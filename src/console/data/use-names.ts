import { useEffect, useState } from "preact/hooks";
import { listAllDestinations, listAllSources } from "./list-all.ts";
import type { Destination, Source } from "./model.ts";
import { missingPermission } from "./session.ts";

/** Looks up names of sources and destinations. The name of an unknown id is the id itself. */
export interface NameLookup {
  source(id: string): string;
  destination(id: string): string;
  sources: readonly Source[];
  destinations: readonly Destination[];
}

const emptyLookup: NameLookup = createLookup([], []);

/**
 * Loads all sources and destinations once, and returns a lookup of their names. Until they are
 * loaded, and without the permission `workspace:admin`, the lookup returns ids.
 */
export function useNames(): NameLookup {
  const [names, setNames] = useState(emptyLookup);
  useEffect(() => {
    if (missingPermission("workspace:admin") !== undefined) return;
    Promise.all([listAllSources(), listAllDestinations()]).then(
      ([sources, destinations]) => setNames(createLookup(sources, destinations)),
      // After a failure, the screen shows ids.
      () => {},
    );
  }, []);
  return names;
}

function createLookup(
  sources: readonly Source[],
  destinations: readonly Destination[],
): NameLookup {
  const map = new Map([...sources, ...destinations].map(({ id, name }) => [id, name]));
  const nameOf = (id: string) => map.get(id) ?? id;
  return { source: nameOf, destination: nameOf, sources, destinations };
}
