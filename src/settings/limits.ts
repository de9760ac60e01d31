/**
 * Limits that a caller or an operator can meet, grouped by where; each name ends in its unit.
 * Limits of one room are in its own `limits.ts`, internal ones beside their code. The reference of
 * limits is generated from these files, group by group.
 */

// The data plane
/** Path and query of a pixel, as sent; longer is 414. */
export const PIXEL_TARGET_BYTES_MAX = 32_768;
/** Parameters of a pixel, all pairs counted; more is 400. */
export const PIXEL_PARAMETERS_MAX = 1_000;
/** Components of a parameter's name; more is 400. */
export const PIXEL_LEVELS_MAX = 16;
/** A larger component of a name is a key, not an index. */
export const PIXEL_ARRAY_INDEX_MAX = 999;
/** Gaps in an event's arrays, each of which becomes `null`; more is 400. */
export const PIXEL_ARRAY_GAPS_MAX = 500;
/** Significant digits of a value that becomes a number; more stay text. */
export const PIXEL_NUMBER_DIGITS_MAX = 15;
/** Head of a request; more is 431. The URL of a pixel has a limit of its own. */
export const HTTP_HEAD_BYTES_MAX = 262_144;
/** Headers of a request to the data plane; more is 431. */
export const HTTP_HEADERS_MAX = 200;
/** Letters of the method of a request to the data plane; more is 400. */
export const HTTP_METHOD_CHARS_MAX = 32;
/** Body of a request to the data plane, which is read and ignored; more is 413. */
export const HTTP_BODY_BYTES_MAX = 65_536;
/**
 * Connections of an ingest process, fewer when it has few descriptors; above it, a new connection
 * closes one that is idle.
 */
export const HTTP_CONNECTIONS_MAX = 10_000;
/**
 * Bytes of unfinished requests of all connections of a process; above it the answer is 503, or the
 * connection ends.
 */
export const HTTP_WAITING_BYTES_MAX = 64 << 20;
/** A connection that is idle or does not read for this long is closed. */
export const IDLE_CONNECTION_SECONDS_MAX = 10;
/**
 * Trusted proxies in a row that are skipped in `X-Forwarded-For`; entries before them are ignored.
 */
export const FORWARDED_HOPS_MAX = 32;
/** A write key may send at once the pixels that its rate allows in this time. */
export const RATE_BURST_SECONDS = 2;
/** Bytes of records that wait for the disk; above it a pixel is answered with 503. */
export const LOG_PENDING_BYTES_MAX = 64 << 20;

// The control plane
/** Body of an API request with code or events; larger is 413. */
export const BODY_BYTES_MAX = 4 << 20;
/**
 * Time from the first to the last byte of a body, so that a slow sender cannot hold a connection
 * longer.
 */
export const BODY_SECONDS_MAX = 30;
/** Levels of nesting of a JSON body. */
export const JSON_LEVELS_MAX = 64;
/** Errors that one answer lists. */
export const DETAILS_MAX = 20;
/** Length of a name, after trimming. */
export const NAME_CHARS_MAX = 255;
/** Length of the description of a transformation or library. */
export const DESCRIPTION_CHARS_MAX = 4_096;
/**
 * Length of an id in a body: `externalId` is the caller's own text, other ids have 27 characters.
 */
export const ID_CHARS_MAX = 255;
/** Length of a member's e-mail address (RFC 3696: 320). */
export const EMAIL_CHARS_MAX = 320;
/** Bytes of a revision's code, in UTF-8. */
export const CODE_BYTES_MAX = 1 << 20;
/** Length of a credential's name, which is part of a key of the store. */
export const CREDENTIAL_NAME_CHARS_MAX = 1_024;
/** Length of a credential's value. */
export const CREDENTIAL_VALUE_CHARS_MAX = 65_536;
/** Destinations that one request may connect a transformation to. */
export const DESTINATION_REFERENCES_MAX = 1_000;
/** Permissions that one request may name, repeated ones counted. */
export const PERMISSIONS_MAX = 100;
/** Items on a page of `/v2` lists. */
export const PAGE_ITEMS_MAX = 100;
/** Number of the last page of a list that may be asked for. */
export const PAGE_MAX = 1_000_000;
/** Versions that a list holds without `count`. */
export const VERSIONS_COUNT_DEFAULT = 5;
/** Highest `count` of versions. */
export const VERSIONS_COUNT_MAX = 1_000;
/** Long lists without pages that a workspace may be sent at the same time; one more is 429. */
export const LISTS_OF_WORKSPACE_MAX = 4;
/** Groups of dead letters that the API lists: those with the most letters. */
export const DEAD_LETTER_GROUPS_MAX = 1_000;
/** Dead letters of one page of the API. */
export const DEAD_LETTERS_PAGE_MAX = 1_000;
/** Seconds after which a browser that signed in with a token must sign in again. */
export const SESSION_SECONDS_MAX = 43_200;
/** Browsers signed in with one token; above it the oldest session ends. */
export const SESSIONS_OF_TOKEN_MAX = 32;
/** Sources, destinations and connections that one overview shows of each. */
export const OVERVIEW_ITEMS_MAX = 500;
/** Suspended transformations of a workspace that one node lists. */
export const SUSPENSIONS_SHOWN_MAX = 500;
/** Concurrent requests of a workspace at one node that query all nodes; one more is 429. */
export const STATUS_QUESTIONS_OF_WORKSPACE_MAX = 16;
/** Live tails of one workspace; one more is 429. */
export const TAILS_OF_WORKSPACE_MAX = 10;
/** Live tails in all; one more is 429. */
export const TAILS_MAX = 100;
/** Unsent bytes of a live tail; beyond it a slow reader misses messages. */
export const TAIL_PENDING_BYTES_MAX = 1 << 20;
/** Kept events that one search answers; without `limit` it answers 50. */
export const SEARCH_EVENTS_MAX = 100;
/**
 * Bytes of the events in a search's answer, as JSON; above it, and after at least one event, the
 * search stops.
 */
export const SEARCH_ANSWER_BYTES_MAX = 4 << 20;
/** Bytes of events that one search reads; then its answer has a cursor to continue. */
export const SEARCH_BYTES_MAX = 256 << 20;
/** Time of one search; then its answer has a cursor to continue. */
export const SEARCH_MS_MAX = 5_000;
/** Length of the cursor of a search. */
export const SEARCH_CURSOR_CHARS_MAX = 4_096;
/** Length of a text that a search looks for. */
export const SEARCH_TEXT_CHARS_MAX = 1_024;
/** Searches of one workspace at once; one more is 429. */
export const SEARCHES_OF_WORKSPACE_MAX = 2;
/** Concurrent searches in all; one more is 429. They take at most half of the server's time. */
export const SEARCHES_MAX = 16;

// Tests and publishing
/** Transformations, and libraries, of one publish or test request. */
export const PUBLISH_ITEMS_MAX = 500;
/** Test events of one request or item. */
export const TEST_EVENTS_MAX = 500;
/**
 * Bytes of test events that are kept with a revision, to test it again when it is published again.
 */
export const TEST_EVENTS_KEPT_BYTES_MAX = 65_536;
/** Requests of one workspace that test code, under way or waiting; more are 503. */
export const TEST_REQUESTS_OF_WORKSPACE_MAX = 32;
/** Requests of all workspaces that test code, under way or waiting; more are 503. */
export const TEST_REQUESTS_MAX = 256;
/** CPU time of user code in all tests of one request; events that did not run by then fail. */
export const TEST_CPU_MS_MAX = 10_000;
/** Elapsed time of tests, for code that sleeps; it starts again with each guest of the request. */
export const TEST_WALL_MS_MAX = 120_000;
/** Bytes of outputs of the tests of one request; the events that would make more fail. */
export const TEST_OUTPUT_BYTES_MAX = 8 << 20;
/** Guests for publishing and test runs, beside those of live events; workspaces take turns. */
export const THROW_AWAY_GUESTS_MAX = 16;
/** Guests of one workspace for publishing and tests at once; its further tests wait. */
export const THROW_AWAY_GUESTS_OF_WORKSPACE_MAX = 4;

// User code
/** CPU time of user code for a batch of events. */
export const GUEST_CPU_MS_MAX = 4_000;
/** Events of a program that may each use up the whole CPU time; later ones get a short one. */
export const GUEST_CULPRITS_MAX = 4;
/** Time after which one more event of the program may use up the whole CPU time. */
export const CULPRIT_FORGOTTEN_MS = 60_000;
/** CPU time of an event after `GUEST_CULPRITS_MAX` others used up the whole CPU time. */
export const GUEST_SHORT_CPU_MS_MAX = 100;
/** Time for a guest that neither computes nor answers, because the machine is busy or it sleeps. */
export const GUEST_WALL_MS_MAX = 20_000;
/** Memory of a guest above what an idle guest has; a guest that takes more is killed. */
export const GUEST_MEMORY_BYTES_MAX = 256 << 20;
/** Heap of Python in a guest; the interpreter and its modules take 38 MB of it. */
export const GUEST_PYTHON_HEAP_BYTES_MAX = 256 << 20;
/**
 * Memory of a Python guest above what an idle one has (220 MB); a heap at its limit takes 220 MB
 * more.
 */
export const GUEST_PYTHON_MEMORY_BYTES_MAX = 320 << 20;
/** Outputs of one event. */
export const GUEST_OUTPUTS_MAX = 1_000;
/** Outputs of one event, and of those that go back at once, in UTF-16 units of JSON. */
export const GUEST_OUTPUT_CHARS_MAX = 1 << 20;
/** Levels of nesting of an output. */
export const GUEST_OUTPUT_LEVELS_MAX = 1_000;
/** Modules that code may import. */
export const GUEST_IMPORTS_MAX = 1_000;
/** Length of the message of one error of user code. */
export const GUEST_ERROR_CHARS_MAX = 4_096;
/** Lines of `log(...)` kept of a test run. */
export const GUEST_LOGS_MAX = 1_000;
/** Length of one line of `log(...)`. */
export const GUEST_LOG_CHARS_MAX = 4_096;
/** All lines of `log(...)` of a test run, in UTF-16 units of JSON. */
export const GUEST_LOGS_CHARS_MAX = 131_072;
/** Requests that user code may make with `fetch` for one batch. */
export const FETCHES_MAX = 1_000;
/** Requests with `fetch` of one batch that are under way at the same time; the others wait. */
export const FETCHES_AT_ONCE_MAX = 50;
/**
 * Time of one `fetch`, from the look-up to the last byte of the answer; code that asks for more
 * gets this.
 */
export const FETCH_MS_MAX = 10_000;
/** Time that one batch may wait for answers to its `fetch`. */
export const FETCH_WAIT_MS_MAX = 60_000;
/** URL, headers and body of one request, in UTF-16 units. */
export const FETCH_REQUEST_CHARS_MAX = 1 << 20;
/** Bytes of the body of one answer to user code's `fetch`. */
export const FETCH_ANSWER_BYTES_MAX = 1 << 20;
/** Batches in a row without a good event after which a program is suspended. */
export const SUSPENSION_BATCHES = 20;
/** Events in a row that failed after which a program is suspended if they used much CPU time. */
export const SUSPENSION_EVENTS = 20;
/** CPU time that counts as much for `SUSPENSION_EVENTS`. */
export const SUSPENSION_CPU_MS = 5_000;
/** Time after a good event within which a program with failed batches is not suspended. */
export const SUSPENSION_GOOD_MS = 60_000;
/** First suspension of a program; each further one is twice as long. */
export const SUSPENDED_MS_MIN = 1_000;
/** Longest suspension of a program. */
export const SUSPENDED_MS_MAX = 300_000;
/** Time for which a program runs in the second guest of its workspace after a costly batch. */
export const COSTLY_PROGRAM_MS = 600_000;
/** CPU time of a costly batch; one that used up the time of its guest or ended it is costly too. */
export const COSTLY_BATCH_CPU_MS = 1_000;
/** Guests of live events alive at once, as far as memory goes; then workspaces take turns. */
export const GUESTS_MAX = 512;
/** Share of the machine's or container's memory for all guests; beyond it idle ones end first. */
export const GUESTS_MEMORY_SHARE_MAX = 0.5;
/** Time after which an unused guest ends. */
export const GUEST_IDLE_MS_MAX = 60_000;

// Delivery
/** Events that user code gets at once. */
export const TRANSFORM_BATCH_EVENTS_MAX = 100;
/** Deliveries of one destination under way at once; never two of one user's events. */
export const LANE_DELIVERIES_MAX = 8;
/** Events of one destination that are read and have not settled. */
export const LANE_IN_FLIGHT_EVENTS_MAX = 4_096;
/**
 * Bytes of events of one destination that are read, or made of them by code, and have not settled.
 */
export const LANE_IN_FLIGHT_BYTES_MAX = 16 << 20;
/** Bytes of events in memory of all destinations of a workspace. */
export const WORKSPACE_HELD_BYTES_MAX = 64 << 20;
/** Bytes of events in memory of the destinations of all workspaces. */
export const LANES_HELD_BYTES_MAX = 128 << 20;
/** Bytes of one delivery, beyond its first event. */
export const DELIVERY_BYTES_MAX = 4 << 20;
/** Longest wait after the first failed attempt at a delivery; it doubles with each further one. */
export const RETRY_DELAY_MS_MIN = 500;
/** Longest wait between two attempts at a delivery, unless the receiver asks for more. */
export const RETRY_DELAY_MS_MAX = 60_000;
/** Longest `Retry-After` that is honoured: a receiver cannot delay events for days. */
export const RETRY_AFTER_MS_MAX = 3_600_000;
/**
 * Failed attempts alone, with failures that may be its own, after which an event is given up while
 * others of its destination get through.
 */
export const POISON_ATTEMPTS_MAX = 8;
/**
 * Failed attempts of an event alone after which the event behind it is tried, if only its own user
 * has events.
 */
export const FOLLOWER_ATTEMPTS_MIN = 16;
/**
 * Share of the memory of a destination's events for events that failed alone and those behind them;
 * beyond it they are tried without delay.
 */
export const RETRIES_SHARE_MAX = 0.25;

/** Destinations with labels of their own in `/metrics`, with `metrics.tenants`. */
export const METRICS_DESTINATIONS_MAX = 2_000;
/** Destinations whose last hour is kept, in minutes; the least active are dropped first. */
export const LANE_HISTORIES_MAX = 1_000;
/** Connections whose events of the last minute are counted. */
export const LANE_HISTORY_CONNECTIONS_MAX = 10_000;
/** Events of one delivery of a destination that gathers them. */
export const GATHERED_EVENTS_MAX = 16_384;
/** Their JSON texts, beyond the first event's. */
export const GATHERED_BYTES_MAX = 32 << 20;
/** Longest time for which events are gathered for one delivery. */
export const GATHERED_MS_MAX = 900_000;

// Replays
/** Events a second of a replay that does not say how many. */
export const REPLAY_RATE_DEFAULT = 1_000;
/** Events a second that a replay may ask for. */
export const REPLAY_RATE_MAX = 100_000;
/** Replays of one workspace that run at the same time; one more is 429. */
export const REPLAYS_OF_WORKSPACE_MAX = 4;
/** Replays that run at the same time in all; one more is 429. */
export const REPLAYS_MAX = 32;
/** Replays of a workspace that have ended and are still shown; the oldest go first. */
export const REPLAYS_KEPT_OF_WORKSPACE_MAX = 100;
/** Longest run of a replay; then it fails, so that it does not keep the event log for ever. */
export const REPLAY_MS_MAX = 259_200_000;
/** Length of each text of a replay's filter. */
export const REPLAY_FILTER_CHARS_MAX = 1_024;

// Destinations
/** A connection test, all its steps together. */
export const CONNECTION_TEST_MS_MAX = 20_000;
/** Connection tests of one workspace at once; one more is 429. */
export const CONNECTION_TESTS_OF_WORKSPACE_MAX = 4;
/** Connection tests at once in all; one more is 429. */
export const CONNECTION_TESTS_MAX = 32;

// Start and stop
/** Time for which a starting server, or log writer, waits for the lock of its directory. */
export const LOG_LOCK_MS_MAX = 10_000;
/** Time at shutdown for requests under way, and then for attempts, before they are cut off. */
export const DRAIN_MS_MAX = 4_000;
/** Time from SIGTERM to the end, whatever is still in flight. */
export const SHUTDOWN_MS_MAX = 10_000;

// Several nodes
/** Partitions of a cluster's events. */
export const CLUSTER_PARTITIONS_MAX = 256;
/** Time for attempts under way when a partition goes to another node. */
export const HAND_OVER_MS_MAX = 700;
