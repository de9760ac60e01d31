// Sources, destinations and connections
/**
 * Removed connections of a workspace that a `PUT` can restore: those that went with their source or
 * destination. Above it the ones that were removed first are forgotten.
 */
export const REMOVED_CONNECTIONS_OF_WORKSPACE_MAX = 1_000;
/** Seconds after which a removed connection is forgotten. */
export const REMOVED_CONNECTION_SECONDS_MAX = 604_800;
