import { isId } from "../ids.ts";
import { REMOVED_CONNECTION_SECONDS_MAX, REMOVED_CONNECTIONS_OF_WORKSPACE_MAX } from "../limits.ts";
import type { Connection } from "../model.ts";
import { type CatalogStore, LAST } from "../store.ts";

type Key = [workspaceId: string, id: string];

interface RemovedConnection {
  connection: Connection;
  removedAt: number;
}

const AGE_MS_MAX = REMOVED_CONNECTION_SECONDS_MAX * 1_000;

/**
 * Table of connections that were removed with their source or destination, so that they can be
 * restored. Terraform replaces a destination by removing it and creating another. Then it changes
 * the connection, which it believes still exists, to lead to the new destination.
 */
export function removedConnectionTable(store: CatalogStore) {
  const rows = store.table<RemovedConnection, Key>("removed-connections");
  const keyOf = ({ workspaceId, id }: Connection): Key => [workspaceId, id];

  /** Deletes the oldest removed connections of a workspace when there are too many. */
  function trim(workspaceId: string): void {
    const range: { start: Key; end: Key } = { start: [workspaceId, ""], end: [workspaceId, LAST] };
    // LMDB changes the object that it is given.
    if (rows.getKeysCount({ ...range }) <= REMOVED_CONNECTIONS_OF_WORKSPACE_MAX) return;
    const oldest = [...rows.getRange(range)].sort((a, b) => a.value.removedAt - b.value.removedAt);
    const excess = oldest.length - REMOVED_CONNECTIONS_OF_WORKSPACE_MAX;
    for (const { key } of oldest.slice(0, excess)) rows.remove(key);
  }

  return {
    /**
     * Returns a removed connection that can be restored. Undefined when there is none with this id.
     */
    find(workspaceId: string, id: string): Connection | undefined {
      const row = isId(id) ? rows.get([workspaceId, id]) : undefined;
      if (row === undefined || Date.now() - row.removedAt > AGE_MS_MAX) return undefined;
      return row.connection;
    },
    /**
     * Stores connections that were removed, so that they can be restored. Only called inside a
     * transaction.
     */
    keep(connections: readonly Connection[]): void {
      const removedAt = Date.now();
      for (const connection of connections) rows.put(keyOf(connection), { connection, removedAt });
      const [first] = connections;
      if (first !== undefined) trim(first.workspaceId);
    },
    forget(connection: Connection): void {
      rows.remove(keyOf(connection));
    },
  };
}
