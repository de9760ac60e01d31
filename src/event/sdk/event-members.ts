import { memberNames, memberSpans } from "../../json/member-names.ts";

/**
 * Names of event members that the server reads or writes. The constants below are indexes of this
 * list.
 */
const NAMES = [
  ...["userId", "anonymousId", "event", "type", "messageId", "writeKey", "request_ip"],
  ...["receivedAt", "originalTimestamp", "sentAt", "timestamp", "context", "integrations"],
  "rudderId",
];
export const USER_ID = 0;
export const ANONYMOUS_ID = 1;
export const EVENT_NAME = 2;
/**
 * Index in `NAMES` of the first member that the server writes separately or omits. The same holds
 * for the members after it. All others, also those not in `NAMES`, are copied from the SDK's event.
 */
export const FIRST_OWNED = 3;
export const MESSAGE_ID = 4;
export const ORIGINAL_TIMESTAMP = 8;
export const SENT_AT = 9;
export const TIMESTAMP = 10;
export const CONTEXT = 11;
export const INTEGRATIONS = 12;

/** Returns the index in `NAMES` of the last scanned member name, or `OTHER_NAME`. */
export const memberIndexOf = memberNames(NAMES);

/** Offsets of the values of the members in `NAMES`, in the JSON of the last scanned event. */
export const members = memberSpans(NAMES);
