/** Limits of the control plane that bound what one request, or one workspace, may cost. */

// The control plane
/** Keys of one object in a JSON body; more is 400. */
export const JSON_KEYS_MAX = 10_000;
/** Parameters of the query of an API request, all pairs counted; more is 400. */
export const QUERY_PARAMETERS_MAX = 100;
/** Faults of a request that are looked at; `DETAILS_MAX` of them are answered. */
export const FAULTS_WALKED_MAX = 100;
/**
 * Bytes a second that all live tails of a workspace are sent together; beyond them they miss
 * messages.
 */
export const TAIL_BYTES_PER_SECOND_MAX = 4 << 20;
