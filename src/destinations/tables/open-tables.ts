import type { OpenDestination } from "../destination.ts";
import type { TableDatabase } from "./table-database.ts";
import { TableLoader } from "./table-loader.ts";
import { type NameRules, WarehouseNames } from "./warehouse-names.ts";

/** The part of a config that chooses to which tables events are written. */
interface TableConfig {
  mode?: "columns" | "raw";
  eventTables?: boolean;
  rawTable?: string;
}

/** An open connection to a database in which events are written to tables. */
export interface TableConnection extends TableDatabase {
  /**
   * Runs `work`, which makes the database calls of one delivery. These calls fail when the
   * delivery's timeout ends or `signal` is aborted.
   */
  within<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  close(): void;
}

/** Opens a destination that writes events to the tables of a database, one delivery at a time. */
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
