// Tables of databases
/** Columns that one event fills. Further values of the event go into the column `rest__json`. */
export const TABLE_EVENT_COLUMNS_MAX = 200;
/**
 * Columns of a table. No column is added to a table that has as many; values without a column go
 * into the column `rest__json`.
 */
export const TABLE_COLUMNS_MAX = 1_000;
/**
 * Tables of a database schema. No table is created in a schema that has as many: events whose name
 * has no table yet go into `tracks` alone, and events of a type without a table become dead letters.
 */
export const TABLES_OF_DESTINATION_MAX = 500;
/** Levels of nested properties that become columns. A deeper object becomes JSON text. */
export const TABLE_LEVELS_MAX = 16;
/**
 * Length of a `messageId`, which is the key of its row. An event with a longer one becomes a dead
 * letter.
 */
export const MESSAGE_ID_BYTES_MAX = 1_024;
