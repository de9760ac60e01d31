import { memberNames, memberSpans } from "./member-names.ts";

/** Members of an event that the server reads or writes; the constants are their numbers. */
const NAMES = [
  ...["userId", "anonymousId", "event", "type", "messageId", "writeKey", "request_ip"],
  ...["receivedAt", "originalTimestamp", "sentAt", "timestamp", "context", "integrations"],
  "rudderId",
];
export const USER_ID = 0;
export const ANONYMOUS_ID = 1;
export const EVENT_NAME = 2;
/** The first of the members that the server writes itself, or leaves out. */
export const FIRST_OWNED = 3;
export const MESSAGE_ID = 4;
export const ORIGINAL_TIMESTAMP = 8;
export const SENT_AT = 9;
export const TIMESTAMP = 10;
export const CONTEXT = 11;
export const INTEGRATIONS = 12;

/** Returns the number of the member whose name the scanner found last, or `OTHER_NAME`. */
export const memberIndexOf = memberNames(NAMES);

/** Where the values of these members are in the event that is being built. */
export const members = memberSpans(NAMES);
