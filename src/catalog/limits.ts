// Sources, destinations and connections
/**
 * Maximum number of removed connections of a workspace that a `PUT` can restore. A connection is
 * removed with its source or destination. Above this number, the connections removed first are
 * forgotten.
 */
export const REMOVED_CONNECTIONS_OF_WORKSPACE_MAX = 1_000;
/** Time after which a removed connection can no longer be restored. */
export const REMOVED_CONNECTION_SECONDS_MAX = 604_800;
