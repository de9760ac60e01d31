// Requests to receivers
/**
 * Concurrent requests of destinations to receivers. User code may have as many again. An eighth of
 * the process's file descriptors is the bound when that is fewer, because each request has a
 * connection. A workspace gets another one only while it has fewer than are free; its further
 * requests wait.
 */
export const EGRESS_REQUESTS_MAX = 2_048;
/**
 * Time after which no further DNS query for a host name is sent. A query that was already sent may
 * complete.
 */
export const EGRESS_LOOKUP_MS_MAX = 8_000;
/** Bytes of the status line and the headers of a receiver's response. A longer head is an error. */
export const EGRESS_HEAD_BYTES_MAX = 16_384;
