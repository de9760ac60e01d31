import { EgressRefused, type EgressResponse, networkReason } from "../../egress/egress.ts";
import { cutText } from "../../errors.ts";
import { answerOf } from "../answers/receiver-answer.ts";
import { DatabaseFailure } from "../tables/table-database.ts";

const MESSAGE_CHARS_MAX = 300;

export const notClickhouse = "The server does not answer as ClickHouse does";

/**
 * Explanations of ClickHouse error codes (ErrorCodes.cpp) for the user who configures the
 * destination.
 */
const meanings = new Map<number, string>([
  [516, "The database does not accept the user or the password"],
  [192, "The database does not know the user"],
  [193, "The database does not accept the password"],
  [194, "The database wants a password"],
  [195, "The database does not let this address in"],
  [497, "The user lacks a grant"],
  [164, "The user may only read"],
  [242, "The table is read-only"],
  [243, "The database's disk is full"],
  [241, "The database has too little memory"],
  [252, "The table has too many parts to merge"],
  [159, "The database did not finish in time"],
  [202, "The database has too many queries"],
  [60, "There is no such table"],
  [81, "There is no such database"],
  [44, "The database reserves the name of a column"],
]);

/**
 * ClickHouse error codes of statements that would fail at every retry, because of a name, a value
 * or their size. The delivery is rejected (see `DeliveryResult`). After any other code, the
 * delivery is retried.
 */
const refusing = new Set([
  // Values that cannot be parsed or converted.
  ...[6, 25, 26, 27, 33, 38, 41, 53, 69, 70, 72, 117, 130, 321, 346, 376, 407, 441, 467, 621],
  ...[632, 645, 675, 676, 691, 760],
  // Values that violate a constraint: no null, a check, a condition of a materialized view.
  ...[349, 395, 469],
  // Names that cannot be used: duplicate, reserved, or ambiguous. A syntax error (62) is none: a
  // full disk causes it when ClickHouse cannot write the definition of a table.
  ...[15, 44, 52, 207, 352, 524, 703],
  // Rows and statements that are too large, or that belong to too many partitions.
  ...[128, 131, 161, 167, 168, 229, 248, 306, 565],
]);
/**
 * Error codes of a failure that no event can have caused, because an insert of any rows would fail:
 * a failed sign-in, a timeout, too few resources, a read-only or missing table or database, a
 * missing replica.
 */
const ofDatabase = new Set([
  ...[516, 192, 193, 194, 195, 164, 242, 243, 241, 252, 159, 202, 60, 81],
  ...[209, 210, 225, 236, 285, 319, 394, 439, 745, 999],
]);
/**
 * Error codes after which pixelmill discards its cached lists of all tables' columns, and reads the
 * columns again. The lists may be wrong because another program has changed a table.
 */
const stale = new Set([...refusing, 8, 16, 36, 44, 47, 60, 81]);

/**
 * Error codes which mean that no further column can be added to a table: the user lacks the grant,
 * or the engine of the table does not allow it.
 */
const fixed = new Set([48, 497]);

/** Returns the ClickHouse error code of a response; undefined when it has none. */
export function codeOf({ headers, body }: EgressResponse): number | undefined {
  const code = headers["x-clickhouse-exception-code"] ?? /^Code: (\d+)/.exec(textOf(body))?.[1];
  return code === undefined ? undefined : Number(code);
}

/**
 * Returns the error that a response reports, with a message for users; undefined when the statement
 * succeeded.
 */
export function failureOf(answer: EgressResponse): DatabaseFailure | undefined {
  const code = codeOf(answer);
  if (code === undefined && answer.status >= 200 && answer.status < 300) return undefined;
  if (code === undefined) {
    const facts = { answer: answerOf(answer) };
    return new DatabaseFailure("later", `The server answered ${answer.status}`, facts);
  }
  const text = textOf(answer.body);
  const detail = text.replace(/^Code: \d+\. (DB::Exception: )?/, "").trim();
  const meaning = meanings.get(code) ?? "The database refuses";
  const kind = refusing.has(code) ? "refused" : "later";
  return new DatabaseFailure(kind, `${meaning}: ${detail.replace(/\.$/, "")} (${code})`, {
    isStale: stale.has(code),
    isFixed: fixed.has(code),
    scope: ofDatabase.has(code) ? "destination" : "event",
    code: String(code),
    answer: { ...answerOf(answer), code: String(code) },
  });
}

export function failureOfNetwork(error: unknown): DatabaseFailure {
  const kind = error instanceof EgressRefused ? "refused" : "later";
  return new DatabaseFailure(kind, networkReason(error));
}

/** Returns the first line of a response body: the error message of ClickHouse. */
function textOf(body: Uint8Array): string {
  const text = Buffer.from(body.subarray(0, 4 * MESSAGE_CHARS_MAX)).toString();
  return cutText(text.split("\n", 1)[0] ?? "", MESSAGE_CHARS_MAX);
}
