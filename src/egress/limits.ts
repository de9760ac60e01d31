// Requests to receivers
/**
 * Number of concurrent requests of destinations to receivers; less if an eighth of the process's
 * file descriptors is less, because each request needs a connection. User code may have as many
 * again. So that no workspace (tenant) takes them all, a workspace may begin another request only
 * while it has fewer in progress than are free. Its further requests wait.
 */
export const EGRESS_REQUESTS_MAX = 2_048;
/**
 * Milliseconds after which no further DNS query for a host name is sent. A query that was already
 * sent may complete.
 */
export const EGRESS_LOOKUP_MS_MAX = 8_000;
/**
 * Largest size in bytes of the status line and the headers of a receiver's response. A longer head
 * is an error.
 */
export const EGRESS_HEAD_BYTES_MAX = 16_384;
