// Webhook destinations
/** Events of one webhook request. */
export const WEBHOOK_BATCH_EVENTS_MAX = 1_000;
/** Time for one webhook request, from the DNS query to the last byte, unless the config sets it. */
export const WEBHOOK_TIMEOUT_MS_DEFAULT = 10_000;
/** Longest time for one request that a webhook's config may set. */
export const WEBHOOK_TIMEOUT_MS_MAX = 60_000;
/** Bytes of a webhook's response that are read. */
export const WEBHOOK_ANSWER_BYTES_MAX = 65_536;
/** Headers that a webhook's config may add. */
export const WEBHOOK_HEADERS_MAX = 50;
/** Length of a webhook's URL. */
export const WEBHOOK_URL_CHARS_MAX = 2_048;
/** Length of a webhook's signing secret. */
export const WEBHOOK_SECRET_CHARS_MAX = 256;
/** Length of the name of a webhook's header. */
export const WEBHOOK_HEADER_NAME_CHARS_MAX = 128;
/** Length of the value of a webhook's header. */
export const WEBHOOK_HEADER_VALUE_CHARS_MAX = 4_096;
/** Length of a path that user code appends to a webhook's URL, or of the URL that it gives. */
export const WEBHOOK_PATH_CHARS_MAX = 4_096;
/** Length of a webhook's template of one event, or of the one around several. */
export const WEBHOOK_TEMPLATE_CHARS_MAX = 16_384;
/** Placeholders of a webhook's template. */
export const WEBHOOK_TEMPLATE_PLACES_MAX = 200;
/** Keys in one path of a webhook's template. */
export const WEBHOOK_TEMPLATE_LEVELS_MAX = 64;
/** Body that a webhook's template produces, before compression; a longer one makes a dead letter. */
export const WEBHOOK_BODY_BYTES_MAX = 8 << 20;
/** Length of each text in the OAuth settings: URL, client id, client secret, scope and audience. */
export const OAUTH_TEXT_CHARS_MAX = 2_048;
/** Bytes of a response that holds an access token. */
export const OAUTH_ANSWER_BYTES_MAX = 65_536;
/** Length of an access token. */
export const OAUTH_TOKEN_CHARS_MAX = 8_192;
/** Lifetime of an access token whose response does not give one. */
export const OAUTH_TOKEN_MS_DEFAULT = 300_000;
/** Longest time for which an access token is used, whatever its response says. */
export const OAUTH_TOKEN_MS_MAX = 86_400_000;
/** Length of a URL that has an event in its query; a longer one makes a dead letter. */
export const WEBHOOK_QUERY_URL_CHARS_MAX = 65_536;
/** Levels of properties that go into the query of a URL; more make a dead letter. */
export const WEBHOOK_QUERY_LEVELS_MAX = 64;
