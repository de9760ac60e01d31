/** Limits of the audit log. */

// The audit log
/** Maximum length of a value in an audit entry, as JSON. A longer one is cut, and marked as cut. */
export const AUDIT_VALUE_CHARS_MAX = 500;
/** Maximum number of changed fields in one audit entry. The entry counts the others. */
export const AUDIT_CHANGES_MAX = 50;
/**
 * Maximum size of the audit entries of one workspace. Above it, the oldest are deleted earlier than
 * the setting `audit.retention` requires.
 */
export const AUDIT_WORKSPACE_BYTES_MAX = 32 << 20;
/**
 * Maximum size of the audit entries of all workspaces. Above it, the oldest of the workspace with
 * the most are deleted.
 */
export const AUDIT_BYTES_MAX = 256 << 20;
/**
 * Maximum size of a workspace's audit entries about refused tokens. They never displace other
 * entries.
 */
export const AUDIT_REFUSALS_BYTES_MAX = 2 << 20;
/**
 * Maximum number of audit entries about refused tokens that one node writes in a minute. One more
 * entry counts the requests from all other addresses.
 */
export const AUDIT_REFUSALS_PER_MINUTE_MAX = 20;
/**
 * Maximum number of audit entries that one request reads. It then returns the entries found so far,
 * with a cursor to continue.
 */
export const AUDIT_ENTRIES_SCANNED_MAX = 5_000;
/** Maximum number of audit entries on one page of the API. */
export const AUDIT_PAGE_MAX = 500;
