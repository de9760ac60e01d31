import type { Key } from "lmdb";
import type { Table } from "../../store/table.ts";
import { newId } from "../ids.ts";
import type { Member, Token } from "../model.ts";
import type { CatalogStore } from "../store.ts";
import type { AuditActor, AuditEntry } from "./audit-entry.ts";
import { type Caller, currentCaller } from "./caller.ts";
import { fieldChanges } from "./field-changes.ts";
import {
  describeRows,
  type ReadRow,
  type RecordedItem,
  type ShowConfig,
  verbOf,
} from "./recorded-tables.ts";

/** First write of a transaction to a row. `before` is the row's state before the transaction. */
interface FirstWrite {
  table: string;
  key: Key;
  before: unknown;
}

interface AuditWriter {
  /** Stores an audit entry. Must be called inside a transaction. */
  add(entry: AuditEntry): void;
  showConfig: ShowConfig;
}

/**
 * Wraps the catalog's store so that each transaction also stores audit entries about its changes.
 * All other parts of the catalog must write through the wrapped store, because other writes leave
 * no entry.
 */
export function recordChanges(store: CatalogStore, audit: AuditWriter): CatalogStore {
  /** First write to each row in the transaction in progress, by table and key. */
  let writes: Map<string, FirstWrite> | undefined;

  function noteWrite(table: string, key: Key, rows: Table<unknown, Key>): void {
    const id = `${table} ${String(key)}`;
    if (writes === undefined || writes.has(id)) return;
    writes.set(id, { table, key, before: rows.get(key) });
  }

  function table<V, K extends Key>(name: string): Table<V, K> {
    const rows = store.table<V, K>(name);
    if (describeRows(name) === undefined) return rows;
    return {
      ...rows,
      put(key, value) {
        noteWrite(name, key, rows as unknown as Table<unknown, Key>);
        rows.put(key, value);
      },
      remove(key) {
        noteWrite(name, key, rows as unknown as Table<unknown, Key>);
        rows.remove(key);
      },
    };
  }

  const stored = <T>(name: string, key: Key) => store.table<T, Key>(name).get(key);
  const read: ReadRow = <T>(name: string, key: string) =>
    stored<T>(name, key) ?? (writes?.get(`${name} ${key}`)?.before as T | undefined);

  function addEntries(caller: Caller | undefined): void {
    const context = { read, showConfig: audit.showConfig };
    for (const { table, key, before } of writes?.values() ?? []) {
      const after = stored<unknown>(table, key);
      const describe = describeRows(table)!;
      const old = before === undefined ? undefined : describe(before, key, context);
      const now = after === undefined ? undefined : describe(after, key, context);
      const item = now ?? old;
      if (item === undefined) continue;
      const found = fieldChanges(old, now);
      const hasNewNote = now?.note !== undefined && now.note !== old?.note;
      // The server itself also changes rows, such as the window of a connection whose destination
      // was disabled. Such a change gets no entry.
      if (found.changes.length === 0 && old?.version === now?.version && !hasNewNote) continue;
      // A note explains one change, so an entry shows only the note of its own change.
      found.changes.push(...fieldChanges(undefined, { fields: { note: now?.note } }).changes);
      const action = `${item.type}.${verbOf(table, before, after)}`;
      audit.add({ ...entryOf(item, caller, read), action, ...found });
    }
  }

  return {
    ...store,
    table,
    change(apply, options) {
      const caller = currentCaller();
      return store.change(() => {
        writes = new Map();
        try {
          const result = apply();
          addEntries(caller);
          return result;
        } finally {
          writes = undefined;
        }
      }, options);
    },
  };
}

function entryOf(item: RecordedItem, caller: Caller | undefined, read: ReadRow) {
  const { type, id, name, workspaceId, concerns = [] } = item;
  const now = Date.now();
  return {
    id: newId(now),
    workspaceId,
    at: now,
    ...callerFields(caller, read, item.tokenId),
    resource: { type, id, name },
    ...(concerns.length > 0 && { concerns }),
  };
}

/**
 * Returns the fields of an audit entry that say who acts, from which address, and with which
 * request.
 */
export function callerFields(
  caller: Caller | undefined,
  read: ReadRow,
  tokenOfItem?: string,
): Pick<AuditEntry, "actor" | "client" | "request"> {
  if (caller === undefined) return { actor: {} };
  const { tokenId = tokenOfItem, client, requestId: id, route } = caller;
  return {
    actor: tokenId === undefined ? {} : actorOf(tokenId, read),
    ...(client !== undefined && { client }),
    request: { id, route },
  };
}

function actorOf(tokenId: string, read: ReadRow): AuditActor {
  const token = read<Token>("tokens", tokenId);
  const { memberId } = token ?? {};
  const member = memberId === undefined ? undefined : read<Member>("members", memberId);
  return {
    tokenId,
    ...(token && { tokenName: token.name }),
    ...(memberId !== undefined && { memberId }),
    ...(member && { memberName: member.name }),
  };
}
