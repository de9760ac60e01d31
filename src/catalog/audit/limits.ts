/** Limits of the audit log. */

// The audit log
/**
 * Maximum characters of a value in an audit entry, as JSON. A longer value is cut, and the entry
 * says so.
 */
export const AUDIT_VALUE_CHARS_MAX = 500;
/**
 * Maximum number of changed fields in one audit entry. If more fields changed, the entry says how
 * many it leaves out.
 */
export const AUDIT_CHANGES_MAX = 50;
/**
 * Maximum size in bytes of the audit entries of one workspace. Above it, the oldest entries are
 * deleted, even if the setting `audit.retention` would keep them longer.
 */
export const AUDIT_WORKSPACE_BYTES_MAX = 32 << 20;
/**
 * Maximum size in bytes of the audit entries of all workspaces together. Above it, the oldest
 * entries of the workspace with the most bytes are deleted.
 */
export const AUDIT_BYTES_MAX = 256 << 20;
/**
 * Maximum size in bytes of a workspace's audit entries about refused tokens. Above it, the oldest
 * of these entries are deleted, and no others.
 */
export const AUDIT_REFUSALS_BYTES_MAX = 2 << 20;
/**
 * Maximum number of audit entries about single callers with refused tokens that one node writes in
 * a minute. The callers with the most requests get them; all other requests are counted in one more
 * entry per workspace.
 */
export const AUDIT_REFUSALS_PER_MINUTE_MAX = 20;
/**
 * Maximum number of audit entries that one request reads. A request that has read this number
 * returns the entries found so far, with a cursor to continue.
 */
export const AUDIT_ENTRIES_SCANNED_MAX = 5_000;
/** Maximum number of audit entries on one page of the API. */
export const AUDIT_PAGE_MAX = 500;
