// Requests to receivers
/**
 * Largest number of concurrent requests of destinations to receivers. User code may have the same
 * number in addition. The number is lower when an eighth of the process's file descriptors is
 * fewer, because each request has a connection. A workspace (tenant) may begin another request only
 * while it has fewer in progress than are free, so that no workspace takes all of them. Its further
 * requests wait.
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
