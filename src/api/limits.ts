/** This file limits what one request, or one workspace, can cost the control plane. */

// The control plane
/**
 * Maximum size of the body of an API request without code or events. A larger one is answered with
 * 413.
 */
export const SMALL_BODY_BYTES_MAX = 256 << 10;
/**
 * Maximum time to answer an API request, not counting the time in which the client sends it. After
 * this time, the answer is 503, although a change may still take effect. Requests that run user
 * code or test a connection have other limits.
 */
export const API_ANSWER_MS_MAX = 10_000;
/**
 * Number of bytes of a request's body that count as one further request against the setting
 * `admin.rate`.
 */
export const BODY_BYTES_PER_REQUEST = 64 << 10;
/**
 * Maximum number of request bodies longer than 64 KiB that the server reads at the same time. One
 * workspace gets at most half of this number. Further bodies wait.
 */
export const LONG_BODIES_MAX = 16;
/**
 * Size of a burst: a workspace may send at once as many API requests as `admin.rate` allows in this
 * number of seconds.
 */
export const API_BURST_SECONDS = 10;
/**
 * Time by which the answer 429 to a request beyond a rate or concurrency limit is delayed. A client
 * that ignores `Retry-After` can therefore repeat a request only a few times per second and
 * connection.
 */
export const REFUSAL_DELAY_MS = 500;
/** Maximum time for an answer of the OpenID provider. After it, the sign-in fails. */
export const PROVIDER_ANSWER_MS_MAX = 4_000;
/** Maximum size of an answer of the OpenID provider. With a longer one, the sign-in fails. */
export const PROVIDER_ANSWER_BYTES_MAX = 256 << 10;
/**
 * Maximum number of sign-ins that wait for the OpenID provider at once. Further sign-ins get 429.
 */
export const PROVIDER_SIGN_INS_MAX = 32;
/** Maximum time for a sign-in at the OpenID provider, until the user is back at the console. */
export const PROVIDER_SIGN_IN_SECONDS_MAX = 600;
/** Maximum number of keys in one object of a JSON body. A body with more is answered with 400. */
export const JSON_KEYS_MAX = 10_000;
/**
 * Maximum number of keys, objects and arrays together in a JSON body. A body with more is answered
 * with 400.
 */
export const JSON_PARTS_MAX = 100_000;
/**
 * Maximum number of query parameters of an API request, repeated ones included. A request with more
 * is answered with 400.
 */
export const QUERY_PARAMETERS_MAX = 100;
/**
 * Maximum number of errors that validation collects for a request. The response lists the first
 * `DETAILS_MAX`.
 */
export const FAULTS_WALKED_MAX = 100;
/**
 * Maximum number of bytes per second that the server sends to all live tails (streams of new
 * events) of one workspace together. When there is more to send, messages are left out.
 */
export const TAIL_BYTES_PER_SECOND_MAX = 4 << 20;
