// Requests to receivers
/**
 * Concurrent requests to receivers, and as many of user code, but at most an eighth of the process's
 * file descriptors; each has a connection. A workspace gets as many as it leaves to all others;
 * further requests wait.
 */
export const EGRESS_REQUESTS_MAX = 2_048;
/** Time after which no further DNS query for a host name begins; a query under way may complete. */
export const EGRESS_LOOKUP_MS_MAX = 8_000;
/** Bytes of the status line and the headers of a receiver's response. */
export const EGRESS_HEAD_BYTES_MAX = 16_384;
