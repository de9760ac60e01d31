// Sources, destinations and connections
/**
 * Maximum number of removed connections that the catalog keeps per workspace. A connection is
 * removed with its source or destination, and can be restored by a `PUT`. Beyond the maximum, the
 * connections removed first are deleted for good.
 */
export const REMOVED_CONNECTIONS_OF_WORKSPACE_MAX = 1_000;
/** Time in seconds after which a removed connection can no longer be restored. */
export const REMOVED_CONNECTION_SECONDS_MAX = 604_800;

// Tests and publishing
/** Maximum number of test cases that are stored with one transformation. */
export const TEST_CASES_MAX = 100;
/**
 * Maximum size in bytes of all test cases of one transformation. It counts names, descriptions,
 * events and expected outputs, as JSON.
 */
export const TEST_CASES_BYTES_MAX = 256 << 10;
/** Maximum number of events in the input of a test case, and in its expected output. */
export const TEST_CASE_EVENTS_MAX = 50;
