// Webhook destinations
/** Maximum number of events in one webhook request. */
export const WEBHOOK_BATCH_EVENTS_MAX = 1_000;
/**
 * Time limit in milliseconds of one webhook request, from the DNS query to the last byte of the
 * response, unless the webhook's config sets another limit.
 */
export const WEBHOOK_TIMEOUT_MS_DEFAULT = 10_000;
/** Longest time limit of one request, in milliseconds, that a webhook's config may set. */
export const WEBHOOK_TIMEOUT_MS_MAX = 60_000;
/** Maximum bytes that are read of a webhook's response. The rest is ignored. */
export const WEBHOOK_ANSWER_BYTES_MAX = 65_536;
/** Maximum number of headers that a webhook's config may add to its requests. */
export const WEBHOOK_HEADERS_MAX = 50;
/** Maximum length of a webhook's URL in characters. */
export const WEBHOOK_URL_CHARS_MAX = 2_048;
/** Maximum length of a webhook's signing secret in characters. */
export const WEBHOOK_SECRET_CHARS_MAX = 256;
/** Maximum length of the name of a webhook's header in characters. */
export const WEBHOOK_HEADER_NAME_CHARS_MAX = 128;
/** Maximum length of the value of a webhook's header in characters. */
export const WEBHOOK_HEADER_VALUE_CHARS_MAX = 4_096;
/**
 * Maximum length in characters of a path that user code appends to a webhook's URL, or of a URL
 * that user code sets instead.
 */
export const WEBHOOK_PATH_CHARS_MAX = 4_096;
/** Maximum characters of a webhook's template for one event, or of its template for a batch. */
export const WEBHOOK_TEMPLATE_CHARS_MAX = 16_384;
/** Maximum number of placeholders in a webhook's template. */
export const WEBHOOK_TEMPLATE_PLACES_MAX = 200;
/** Maximum number of keys in one path of a webhook's template. */
export const WEBHOOK_TEMPLATE_LEVELS_MAX = 64;
/**
 * Maximum size in bytes of the body that a webhook's template produces, before compression. Events
 * that would produce a longer body become dead letters.
 */
export const WEBHOOK_BODY_BYTES_MAX = 8 << 20;
/** Maximum characters of each OAuth text: URL, client id, client secret, scope and audience. */
export const OAUTH_TEXT_CHARS_MAX = 2_048;
/** Maximum bytes of a token server's response. A longer response is an error. */
export const OAUTH_ANSWER_BYTES_MAX = 65_536;
/** Maximum length of an access token in characters. A longer token is an error. */
export const OAUTH_TOKEN_CHARS_MAX = 8_192;
/** Maximum number of cached access tokens of all webhook destinations, closed ones included. */
export const OAUTH_TOKENS_KEPT_MAX = 1_000;
/**
 * Lifetime in milliseconds of an access token when the token server's response does not state one.
 */
export const OAUTH_TOKEN_MS_DEFAULT = 300_000;
/**
 * Longest time in milliseconds for which an access token is used, even if the token server states a
 * longer lifetime.
 */
export const OAUTH_TOKEN_MS_MAX = 86_400_000;
/**
 * Maximum characters of a URL that contains an event in its query string. An event with a longer
 * URL becomes a dead letter.
 */
export const WEBHOOK_QUERY_URL_CHARS_MAX = 65_536;
/**
 * Maximum levels of nested properties in the query string of a URL. An event with more levels
 * becomes a dead letter.
 */
export const WEBHOOK_QUERY_LEVELS_MAX = 64;
