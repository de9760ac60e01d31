// Requests to receivers
/**
 * Maximum number of concurrent requests of destinations, at most an eighth of the process's file
 * descriptors. Requests of user code have an equal maximum of their own. A workspace (tenant) with
 * n requests in progress may begin another one only while more than n are free. Its further
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
