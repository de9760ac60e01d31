// Sources, destinations and connections
/**
 * Removed connections of a workspace that a `PUT` can restore: those that went with their source or
 * destination. Above it the ones that were removed first are forgotten.
 */
export const REMOVED_CONNECTIONS_OF_WORKSPACE_MAX = 1_000;
/** Days after which a removed connection is forgotten. */
export const REMOVED_CONNECTION_DAYS_MAX = 7;
