/** Limits of the control plane that bound what one request, or one workspace, may cost. */

// The control plane
/**
 * Maximum size of the body of an API request without code or events. A larger one is answered with
 * 413.
 */
export const SMALL_BODY_BYTES_MAX = 256 << 10;
/**
 * Maximum time until an API request is answered, apart from the time that the client takes to send
 * it. Then it is answered with 503, and a change may still take effect. Requests that run user code
 * or test a connection have limits of their own.
 */
export const API_ANSWER_MS_MAX = 10_000;
/**
 * Size of the part of a request's body that counts as one more request against the setting
 * `admin.rate`.
 */
export const BODY_BYTES_PER_REQUEST = 64 << 10;
/**
 * Maximum number of request bodies longer than 64 KiB that the server reads at once. A workspace
 * gets at most half of them. Further bodies wait for their turn.
 */
export const LONG_BODIES_MAX = 16;
/**
 * Time whose allowance one burst may use: a workspace may send at once as many API requests as
 * `admin.rate` allows in this time.
 */
export const API_BURST_SECONDS = 10;
/**
 * Time that a request beyond a rate or concurrency limit waits for its answer 429. A client that
 * ignores `Retry-After` can therefore repeat a request only a few times per second and connection.
 */
export const REFUSAL_DELAY_MS = 500;
/** Maximum time for an answer of the OpenID provider. After it, the sign-in fails. */
export const PROVIDER_ANSWER_MS_MAX = 4_000;
/** Maximum size of an answer of the OpenID provider. With a longer one, the sign-in fails. */
export const PROVIDER_ANSWER_BYTES_MAX = 256 << 10;
/** Maximum number of sign-ins that wait for the OpenID provider at once. Further ones get 429. */
export const PROVIDER_SIGN_INS_MAX = 32;
/** Time within which a user must sign in at the OpenID provider after the console sent them there. */
export const PROVIDER_SIGN_IN_SECONDS_MAX = 600;
/** Maximum number of keys in one object of a JSON body. More are answered with 400. */
export const JSON_KEYS_MAX = 10_000;
/**
 * Maximum number of keys, objects and arrays together in a JSON body. More are answered with 400.
 */
export const JSON_PARTS_MAX = 100_000;
/**
 * Maximum number of query parameters of an API request. Repeated names count each time. More are
 * answered with 400.
 */
export const QUERY_PARAMETERS_MAX = 100;
/**
 * Maximum number of errors in a request that the validation examines. The response lists
 * `DETAILS_MAX` of them.
 */
export const FAULTS_WALKED_MAX = 100;
/**
 * Maximum number of bytes per second that the server sends to all live tails (streams of new
 * events) of one workspace. Above it, the live tails miss messages.
 */
export const TAIL_BYTES_PER_SECOND_MAX = 4 << 20;
