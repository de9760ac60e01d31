import { EgressRefused, networkReason } from "../../egress/egress.ts";
import { DatabaseFailure } from "../tables/table-database.ts";
import { PostgresError } from "./postgres-session.ts";

/**
 * Explanations of SQLSTATE codes, or of their classes (PostgreSQL manual, appendix A), for the user
 * who configures the destination.
 */
const meanings = new Map<string, string>([
  ["28P01", "The database does not accept the user or the password"],
  ["28", "The database does not let the user in"],
  ["3D000", "There is no such database"],
  ["3F000", "There is no such schema"],
  ["42501", "The user lacks a grant"],
  ["42P01", "There is no such table"],
  ["42P10", "The table has no unique key for its id"],
  ["25006", "The database is read-only"],
  ["53100", "The database's disk is full"],
  ["53300", "The database has too many connections"],
  ["54011", "The table has as many columns as it can have"],
  ["42701", "A column of that name exists already"],
  ["42809", "The table can have no further columns"],
  ["55P03", "The table is locked"],
  ["57014", "The database did not finish in time"],
  ["58", "The database cannot use its files"],
  ["XX", "The database failed by itself"],
  ["57P", "The database is shutting down or starting"],
  ["22", "A value does not fit its column"],
  ["23502", "A column must not be empty"],
  ["23", "A constraint of the table is not met"],
  ["44", "A condition of the view is not met"],
  ["P0", "A function of the table refuses the row"],
]);

/**
 * SQLSTATE codes after which a delivery is rejected (see `DeliveryResult`), because every retry
 * would fail too. The codes in `definitions` are exceptions.
 *
 * - Class 21, 22, 23, 44: values that do not fit, or violate a constraint or the check of a view.
 * - Class 42: names that cannot be used.
 * - Class 54: a row or a statement that is too large, or more columns than a table can have.
 * - Class P0: functions of the table's triggers that refuse the row.
 */
const refusing = /^(21|22|23|42|44|54|P0)/;
/**
 * SQLSTATE codes of class 42 after which a delivery is retried, because someone may change the
 * database: a grant is missing, or an object is missing or unsuitable. Includes syntax errors,
 * because only functions in the database can contain them.
 */
const definitions =
  /^(42501|42601|42P0[1-7]|42P10|42P17|42P2[12]|42703|42704|42710|42723|42725|42804|42846|42883)/;
/**
 * SQLSTATE codes and classes of failures that would affect an insert of any rows: connection,
 * sign-in, conflict of transactions, resources, lock, timeout, operator's intervention, disk,
 * read-only database, missing database or schema.
 */
const ofDatabase = /^(08|28|40|53|55|57|58|25006|3D|3F)/;
/**
 * SQLSTATE codes after which pixelmill discards its cached lists of all tables' columns, and reads
 * the columns again. The lists may be wrong because another program has changed a table.
 */
const stale = /^(42P01|42703|42804|42846|42P10|22|3F000)/;

/**
 * SQLSTATE codes which mean that no further column can be added to a table: the user lacks the
 * grant, the table is a view, or the table has 1,600 columns, including dropped ones.
 */
const fixed = new Set(["42501", "42809", "54011"]);

/**
 * Converts a PostgreSQL or network error into a `DatabaseFailure` with a message for users. Returns
 * any other error unchanged.
 */
export function failureOf(error: unknown): unknown {
  if (error instanceof DatabaseFailure || !(error instanceof Error)) return error;
  if (error instanceof EgressRefused) return new DatabaseFailure("refused", error.message);
  if (!(error instanceof PostgresError)) {
    const reason = networkReason(error, "The connection to the database failed", "The database's");
    return new DatabaseFailure("later", reason);
  }
  const { code, column, constraint, message, text } = error;
  const keys = [code, code.slice(0, 3), code.slice(0, 2)];
  const meaning = keys.map((key) => meanings.get(key)).find(Boolean) ?? "The database refuses";
  const where = [
    ...(column === undefined ? [] : [`column ${column}`]),
    ...(constraint === undefined ? [] : [`constraint ${constraint}`]),
  ].join(", ");
  const kind = refusing.test(code) && !definitions.test(code) ? "refused" : "later";
  const place = where === "" ? "" : ` (${where})`;
  const scope = ofDatabase.test(code) ? "destination" : "event";
  const reason = `${meaning}${place}: ${message} (${code})`;
  return new DatabaseFailure(kind, reason, {
    isStale: stale.test(code),
    isFixed: fixed.has(code),
    scope,
    code,
    answer: { code, body: text },
  });
}
