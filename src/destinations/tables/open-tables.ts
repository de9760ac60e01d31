import type { OpenDestination } from "../destination.ts";
import { type TableDatabase, TableLoader } from "./table-loader.ts";
import { type NameRules, WarehouseNames } from "./warehouse-names.ts";

/** Keys of a config that say which tables events go into, as `tableKeys` has them. */
export interface TableConfig {
  mode?: "columns" | "raw";
  eventTables?: boolean;
  rawTable?: string;
}

/** A database that is open: what it is asked for one delivery ends with its time or the signal. */
export interface TableConnection extends TableDatabase {
  within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  close(): void;
}

/** Deliveries into a database, one after the other. */
export function openTables(
  { mode = "columns", eventTables = false, rawTable = "events" }: TableConfig,
  rules: NameRules,
  database: TableConnection,
): OpenDestination {
  const loader = new TableLoader({ mode, eventTables, rawTable, names: new WarehouseNames(rules) });
  let last: Promise<unknown> = Promise.resolve();

  return {
    deliver(events, signal) {
      const turn = last.then(() => database.within(signal, () => loader.load(events, database)));
      last = turn.catch(() => {});
      return turn.catch((error) => ({ kind: "retry", reason: (error as Error).message }));
    },
    async close() {
      await last;
      database.close();
    },
  };
}
