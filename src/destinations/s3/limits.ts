// S3 destinations
/**
 * Time limit of one request to an object store, from the DNS query to the last byte, unless the
 * config sets it.
 */
export const S3_TIMEOUT_MS_DEFAULT = 60_000;
/** Longest time for one request that the config of an object store may set. */
export const S3_TIMEOUT_MS_MAX = 300_000;
