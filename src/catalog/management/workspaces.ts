import { ApiError } from "../../errors.ts";
import { isId, newId } from "../ids.ts";
import type { CatalogStore } from "../store.ts";
import type { Tables } from "../tables/tables.ts";
import type { Workspaces } from "./resources.ts";

const CURSOR_KEY_BYTES = 32;

export function openWorkspaces(store: CatalogStore, { workspaces }: Tables): Workspaces {
  const list = () => [...workspaces.getRange({})].map(({ value }) => value);

  function create(name: string) {
    const now = Date.now();
    const workspace = { id: newId(now), name, createdAt: now, cursorKey: newCursorKey() };
    workspaces.put(workspace.id, workspace);
    return workspace;
  }

  const get = (id: string) => (isId(id) ? workspaces.get(id) : undefined);

  function addCursorKey(id: string): string {
    const workspace = get(id);
    if (workspace === undefined) throw new ApiError("missing", "Workspace not found");
    const cursorKey = workspace.cursorKey ?? newCursorKey();
    workspaces.put(id, { ...workspace, cursorKey });
    return cursorKey;
  }

  return {
    create: (name) => store.change(() => create(name)),
    first: (name) =>
      store.change(() => {
        const [existing] = list();
        return { workspace: existing ?? create(name), isMade: existing === undefined };
      }),
    get,
    list,
    async cursorKey(id) {
      const key = get(id)?.cursorKey ?? (await store.change(() => addCursorKey(id)));
      return Buffer.from(key, "hex");
    },
  };
}

const newCursorKey = () => crypto.getRandomValues(Buffer.alloc(CURSOR_KEY_BYTES)).toString("hex");
