import { isId, newId } from "../ids.ts";
import type { CatalogStore } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import type { Workspaces } from "./resources.ts";

export function openWorkspaces(store: CatalogStore, { workspaces }: Tables): Workspaces {
  const list = () => [...workspaces.getRange({})].map(({ value }) => value);

  function create(name: string) {
    const now = Date.now();
    const workspace = { id: newId(now), name, createdAt: now };
    workspaces.put(workspace.id, workspace);
    return workspace;
  }

  return {
    create: (name) => store.change(() => create(name)),
    first: (name) =>
      store.change(() => {
        const [existing] = list();
        return { workspace: existing ?? create(name), isMade: existing === undefined };
      }),
    get: (id) => (isId(id) ? workspaces.get(id) : undefined),
    list,
  };
}
