import { useEffect, useState } from "preact/hooks";
import { listAllDestinations, listAllSources } from "./list-all.ts";
import type { Destination, Source } from "./model.ts";
import { missingPermission } from "./session.ts";

/** Names of sources and destinations by their ids; an id without a known name is its own name. */
export interface NameLookup {
  source(id: string): string;
  destination(id: string): string;
  sources: readonly Source[];
  destinations: readonly Destination[];
}

const emptyLookup: NameLookup = createLookup([], []);

/** Loads the names once; the lookup is empty until then, and without `workspace:admin`. */
export function useNames(): NameLookup {
  const [names, setNames] = useState(emptyLookup);
  useEffect(() => {
    if (missingPermission("workspace:admin") !== undefined) return;
    Promise.all([listAllSources(), listAllDestinations()]).then(
      ([sources, destinations]) => setNames(createLookup(sources, destinations)),
      // The screen shows ids instead.
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
