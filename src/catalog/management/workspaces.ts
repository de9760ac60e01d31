import { defined } from "../../defined.ts";
import { ApiError } from "../../errors.ts";
import { isId, newId } from "../ids.ts";
import type { CatalogStore } from "../store.ts";
import type { Tables } from "../tables/tables.ts";

const CURSOR_KEY_BYTES = 32;

export function openWorkspaces(store: CatalogStore, { workspaces }: Tables) {
  const list = (limit?: number) =>
    [...workspaces.getRange(defined({ limit }))].map(({ value }) => value);

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
    create: (name: string) => store.change(() => create(name)),
    /**
     * Returns the oldest workspace, or creates one when there is none. `isMade` is true when the
     * workspace was created.
     */
    first: (name: string) =>
      store.change(() => {
        const [existing] = list(1);
        return { workspace: existing ?? create(name), isMade: existing === undefined };
      }),
    get,
    /** Returns the workspaces, oldest first: all of them, or only the `limit` oldest. */
    list,
    /**
     * Returns the key, 256 random bits, that encrypts the cursors of the workspace's event
     * searches. A cursor says where the next page of a search begins.
     */
    async cursorKey(id: string): Promise<Uint8Array> {
      const key = get(id)?.cursorKey ?? (await store.change(() => addCursorKey(id)));
      return Buffer.from(key, "hex");
    },
  };
}

const newCursorKey = () => crypto.getRandomValues(Buffer.alloc(CURSOR_KEY_BYTES)).toString("hex");
