/** Limits of the control plane that bound what one request, or one workspace, may cost. */

// The control plane
/** Body of an API request without code or events; larger is 413. */
export const SMALL_BODY_BYTES_MAX = 256 << 10;
/** Bytes of a body that count as one more request against `admin.rate`. */
export const BODY_BYTES_PER_REQUEST = 64 << 10;
/** A workspace may send at once the API requests that `admin.rate` allows in this time. */
export const API_BURST_SECONDS = 10;
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
