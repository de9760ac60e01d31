// Tables of databases
/** Columns that one event fills; its other values go into the column `rest__json`. */
export const TABLE_EVENT_COLUMNS_MAX = 200;
/** Columns up to which a table is widened; beyond it, values go into `rest__json`. */
export const TABLE_COLUMNS_MAX = 1_000;
/** Tables of a database schema beyond which no table is created; events that need one become dead letters. */
export const TABLES_OF_DESTINATION_MAX = 500;
/** Levels of nested properties that become columns; deeper ones become JSON text. */
export const TABLE_LEVELS_MAX = 16;
/** Length of a `messageId`, which is the key of its row; a longer one makes a dead letter. */
export const MESSAGE_ID_BYTES_MAX = 1_024;
