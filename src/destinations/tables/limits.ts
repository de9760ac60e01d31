// Tables of databases
/**
 * Maximum number of columns that one event fills. Further values are written to the column
 * `rest__json`.
 */
export const TABLE_EVENT_COLUMNS_MAX = 200;
/**
 * Number of columns up to which pixelmill adds columns to a table. Further values are written to
 * the column `rest__json`.
 */
export const TABLE_COLUMNS_MAX = 1_000;
/**
 * Number of tables in a database schema up to which pixelmill creates tables that are named after
 * events. When a schema has this many tables, an event whose name has no table is written only to
 * `tracks`.
 */
export const TABLES_OF_DESTINATION_MAX = 500;
/** Levels of nested properties that become columns. A deeper object is one column of JSON. */
export const TABLE_LEVELS_MAX = 16;
/**
 * Maximum length in bytes of an event's `messageId`, which is the key of the event's row. An event
 * with a longer `messageId` becomes a dead letter.
 */
export const MESSAGE_ID_BYTES_MAX = 1_024;
