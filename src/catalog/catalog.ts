import type { openCatalog } from "./open.ts";

/**
 * The catalog: workspaces, tokens, sources, destinations, connections and user code, stored in
 * LMDB.
 * - Each method that changes data is one atomic transaction, durable when its promise resolves.
 * - Reads are synchronous, and see the newest committed state, also that of other processes.
 * - Methods throw an `ApiError`: `missing` (the id is unknown or belongs to another workspace),
 *   `conflict` or `invalid`.
 * - Methods about a workspace's items take the workspace's id first, and never touch another
 *   workspace.
 */
export type Catalog = Awaited<ReturnType<typeof openCatalog>>;
