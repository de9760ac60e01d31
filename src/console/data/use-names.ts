import { useEffect, useState } from "preact/hooks";
import { listAllDestinations, listAllSources } from "./list-all.ts";
import { client, missingPermission } from "./session.ts";

/** Looks up names of sources and destinations. The name of an unknown id is the id itself. */
export interface NameLookup {
  source(id: string): string;
  destination(id: string): string;
  sources: readonly Named[];
  destinations: readonly Named[];
}

interface Named {
  id: string;
  name: string;
}

const emptyLookup: NameLookup = createLookup([], []);

/**
 * Loads the names of all sources and destinations once, and returns a lookup. Until they are loaded,
 * the lookup returns ids.
 */
export function useNames(): NameLookup {
  const [names, setNames] = useState(emptyLookup);
  useEffect(() => {
    loadNames().then(
      ({ sources, destinations }) => setNames(createLookup(sources, destinations)),
      // After a failure, the screen shows ids.
      () => {},
    );
  }, []);
  return names;
}

function createLookup(sources: readonly Named[], destinations: readonly Named[]): NameLookup {
  const map = new Map([...sources, ...destinations].map(({ id, name }) => [id, name]));
  const nameOf = (id: string) => map.get(id) ?? id;
  return { source: nameOf, destination: nameOf, sources, destinations };
}

async function loadNames(): Promise<{ sources: readonly Named[]; destinations: readonly Named[] }> {
  if (missingPermission("events:read") === undefined) return client.call("GET /v2/status/names");
  if (missingPermission("workspace:admin") !== undefined) return { sources: [], destinations: [] };
  const [sources, destinations] = await Promise.all([listAllSources(), listAllDestinations()]);
  return { sources, destinations };
}
