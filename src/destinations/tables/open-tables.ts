import type { OpenDestination } from "../destination.ts";
import { inTurn } from "../in-turn.ts";
import type { TableConfig } from "./config.ts";
import type { TableDatabase } from "./table-database.ts";
import { TableLoader } from "./table-loader.ts";
import { type NameRules, WarehouseNames } from "./warehouse-names.ts";

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
  config: TableConfig,
  rules: NameRules,
  database: TableConnection,
): OpenDestination {
  const loader = new TableLoader(config, new WarehouseNames(rules), database);
  return inTurn(
    (events, signal) =>
      database
        .within(signal, () => loader.load(events))
        .catch((error) => ({ kind: "retry", reason: (error as Error).message })),
    () => database.close(),
  );
}
