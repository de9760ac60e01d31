import { ageOf } from "../../observe/ages.ts";
import { isId } from "../ids.ts";
import { REMOVED_CONNECTION_SECONDS_MAX, REMOVED_CONNECTIONS_OF_WORKSPACE_MAX } from "../limits.ts";
import type { Connection } from "../model.ts";
import { type CatalogStore, keysBelow } from "../store.ts";

type Key = [workspaceId: string, id: string];

interface RemovedConnection {
  connection: Connection;
  removedAt: number;
}

const AGE_MS_MAX = REMOVED_CONNECTION_SECONDS_MAX * 1_000;

/**
 * Table of connections that were removed with their source or destination and can be restored.
 * Terraform needs this, because it removes a destination before it creates the replacement and
 * updates the connection.
 */
export function removedConnectionTable(store: CatalogStore) {
  const rows = store.table<RemovedConnection, Key>("removed-connections");
  const keyOf = ({ workspaceId, id }: Connection): Key => [workspaceId, id];

  /** Deletes a workspace's rows except the newest `REMOVED_CONNECTIONS_OF_WORKSPACE_MAX`. */
  function trim(workspaceId: string): void {
    const range = keysBelow(workspaceId);
    // LMDB changes the object that it is given.
    if (rows.getKeysCount({ ...range }) <= REMOVED_CONNECTIONS_OF_WORKSPACE_MAX) return;
    const oldest = [...rows.getRange(range)].sort((a, b) => a.value.removedAt - b.value.removedAt);
    const excess = oldest.length - REMOVED_CONNECTIONS_OF_WORKSPACE_MAX;
    for (const { key } of oldest.slice(0, excess)) rows.remove(key);
  }

  return {
    /**
     * Returns a removed connection. Returns `undefined` when no removed connection has this id, or
     * when it was removed too long ago to be restored.
     */
    find(workspaceId: string, id: string): Connection | undefined {
      const row = isId(id) ? rows.get([workspaceId, id]) : undefined;
      if (row === undefined || ageOf(row.removedAt) > AGE_MS_MAX) return undefined;
      return row.connection;
    },
    /**
     * Stores removed connections of one workspace, so that they can be restored. Requires an open
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
