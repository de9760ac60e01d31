import { inspectQuery } from "./inspect.ts";
import type { EventRecord } from "./record.ts";
import { userHashOfJson } from "./sdk/event.ts";

/**
 * Returns the hash of the user id in a record's event. The hash determines the partition that
 * stores the record.
 */
export function userHashOf(record: EventRecord): number {
  if (record.format !== "json") return inspectQuery(record.query, record.type, true).user;
  return userHashOfJson(record);
}
