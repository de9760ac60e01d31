import type { OpenDestination } from "../destination.ts";
import { type TableDatabase, TableLoader } from "./table-loader.ts";
import { type NameRules, WarehouseNames } from "./warehouse-names.ts";

/** The config of `tableKeys`. */
export interface TableConfig {
  mode?: "columns" | "raw";
  eventTables?: boolean;
  rawTable?: string;
}

/** An open database. */
export interface TableConnection extends TableDatabase {
  /** Runs the calls of one delivery, which end at its timeout or when the signal is aborted. */
  within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  close(): void;
}

/** Opens a destination that writes to the tables of a database, one delivery after the other. */
export function openTables(
  { mode = "columns", eventTables = false, rawTable = "events" }: TableConfig,
  rules: NameRules,
  database: TableConnection,
): OpenDestination {
  const loader = new TableLoader({ mode, eventTables, rawTable, names: new WarehouseNames(rules) });
  let last: Promise<unknown> = Promise.resolve();

  return {
    deliver(events, signal) {
      const result = last.then(() => database.within(signal, () => loader.load(events, database)));
      last = result.catch(() => {});
      return result.catch((error) => ({ kind: "retry", reason: (error as Error).message }));
    },
    async close() {
      await last;
      database.close();
    },
  };
}
