// S3 destinations
/**
 * Timeout of one request to an object store in milliseconds, from the DNS query to the last byte,
 * unless the config sets another one.
 */
export const S3_TIMEOUT_MS_DEFAULT = 60_000;
/** Longest timeout of one request, in milliseconds, that the config of an object store may set. */
export const S3_TIMEOUT_MS_MAX = 300_000;
