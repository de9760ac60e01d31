import type { TableColumns } from "./table-records.ts";

/**
 * Maximum number of columns cached for all tables of a destination together. Beyond it, the least
 * recently used tables are removed. Needed because a hostile database may claim any number of
 * columns.
 */
const COLUMNS_KEPT_MAX = 100_000;

/**
 * Cache that maps the name of a table to its columns, as the database last described them. When
 * there are more than `COLUMNS_KEPT_MAX` columns, the least recently used tables are removed.
 */
export class KnownTables {
  readonly #tables = new Map<string, TableColumns>();
  #columns = 0;

  get(table: string): TableColumns | undefined {
    const columns = this.#tables.get(table);
    if (columns !== undefined) this.set(table, columns);
    return columns;
  }

  set(table: string, columns: TableColumns): void {
    this.#forget(table);
    this.#tables.set(table, columns);
    this.#columns += columns.size;
    for (const oldest of this.#tables.keys()) {
      if (this.#columns <= COLUMNS_KEPT_MAX) break;
      this.#forget(oldest);
    }
  }

  clear(): void {
    this.#tables.clear();
    this.#columns = 0;
  }

  #forget(table: string): void {
    this.#columns -= this.#tables.get(table)?.size ?? 0;
    this.#tables.delete(table);
  }
}
