import type { Workspaces } from "./catalog.ts";
import { isId, newId } from "./ids.ts";
import type { Store } from "./store.ts";
import type { Tables } from "./tables.ts";

export function openWorkspaces(store: Store, { workspaces }: Tables): Workspaces {
  return {
    create(name) {
      const now = Date.now();
      const workspace = { id: newId(now), name, createdAt: now };
      return store.change(() => {
        workspaces.put(workspace.id, workspace);
        return workspace;
      });
    },
    get: (id) => (isId(id) ? workspaces.get(id) : undefined),
    list: () => [...workspaces.getRange({})].map(({ value }) => value),
  };
}
