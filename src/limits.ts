/**
 * Every bound of the service, its unit in its name. Tests check the README's table of limits
 * against this file, and how bounds relate to each other.
 */

// Pixel API (specification §8, decisions §6)
/** Path and query of a pixel, as sent; longer is 414. */
export const PIXEL_TARGET_BYTES_MAX = 32_768;
/** Head of a request; more is 431. The URL of a pixel has a limit of its own. */
export const HTTP_HEAD_BYTES_MAX = 262_144;
/** Headers of a request to the data plane; more is 431. */
export const HTTP_HEADERS_MAX = 200;
/** Body of a request to the data plane, which is read and ignored; more is 413. */
export const HTTP_BODY_BYTES_MAX = 65_536;
/** Letters of the method of a request to the data plane; more is 400. */
export const HTTP_METHOD_CHARS_MAX = 32;
/** Parameters of a pixel, all pairs counted; more is 400. */
export const PIXEL_PARAMETERS_MAX = 1_000;
/** Components of a parameter's name; more is 400. */
export const PIXEL_LEVELS_MAX = 16;
/** A larger component of a name is a key, not an index. */
export const PIXEL_ARRAY_INDEX_MAX = 999;
/** Elements of an event's arrays, gaps counted; more is 400, for 32 KB could make 35 MB. */
export const PIXEL_ARRAY_ELEMENTS_MAX = 100_000;
/** Significant digits of a value that becomes a number; more stay text. */
export const PIXEL_NUMBER_DIGITS_MAX = 15;
/** Peers whose address is remembered, with whether they are trusted; then all are forgotten. */
export const PEERS_REMEMBERED_MAX = 4_096;
/** Trusted proxies in a row that are passed in `X-Forwarded-For`; what they tell counts, no more. */
export const FORWARDED_HOPS_MAX = 32;
/** Connections of an ingest process, which descriptors may bound lower; then one makes room. */
export const HTTP_CONNECTIONS_MAX = 10_000;
/** Requests that wait, of all connections of a process; beyond it 503, or a connection's end. */
export const HTTP_WAITING_BYTES_MAX = 64 << 20;
/** A connection that lets the server wait this long, for a request or to be read, is closed. */
export const IDLE_CONNECTION_SECONDS_MAX = 10;

// Event log
/** Blocks on disk are at most this long; it may grow, but never shrink: older logs hold them. */
export const LOG_BLOCK_BYTES_MAX = 1 << 20;
/** A larger segment is followed by the next; what is trimmed are whole segments. */
export const LOG_SEGMENT_BYTES_MAX = 64 << 20;
/** Space of a trimmed segment is given back in steps of this size. */
export const LOG_FREE_STEP_BYTES = 4 << 20;
/** Between two steps of giving space back, so that other writes get their turn. */
export const LOG_FREE_STEP_MS = 20;
/** Records that wait for the disk; beyond it the pixel answers 503. */
export const LOG_PENDING_BYTES_MAX = 64 << 20;
/** Records that keep coming delay a flush at most until this long after the last one began. */
export const LOG_GATHER_MS = 1;
/** A disk whose last write took less is written without the detour through a thread. */
export const LOG_BLOCKING_WRITE_MS_MAX = 1;
/** Batches larger than this are always written through a thread. */
export const LOG_BLOCKING_WRITE_BYTES_MAX = 256 << 10;
/** How long a starting server, or log writer, waits for an old one to let go of its directory. */
export const LOG_LOCK_MS_MAX = 10_000;
/** Between two attempts to write to a disk that failed. */
export const LOG_PROBE_MS = 250;
/** What a reader reads of a segment at once. */
export const LOG_READ_WINDOW_BYTES = 256 << 10;
/** Blocks kept in memory by a reader; lanes at the tail share them. */
export const LOG_CACHE_BYTES_MAX = 16 << 20;
/** A reader remembers where a block starts at most once per so many bytes of a segment. */
export const LOG_INDEX_STRIDE_BYTES = 64 << 10;

// Ingest processes
/** Between two messages that tell the server how far the log is durable. */
export const INGEST_DURABLE_MS = 5;
/** From its start until a process listens; it may wait for its log's lock meanwhile. */
export const INGEST_START_MS_MAX = 20_000;
/** Delay of the restart of an ingest process that died, doubled each time it dies young. */
export const INGEST_RESTART_MS_MIN = 50;
/** The longest delay of the restart of an ingest process that died. */
export const INGEST_RESTART_MS_MAX = 5_000;
/** An ingest process that lived this long is restarted without more delay than the first. */
export const INGEST_STEADY_MS_MIN = 10_000;
/** What an ingest process has for answers and its last flush when the server asks it to end. */
export const INGEST_CLOSE_MS_MAX = 5_000;
/** What an ingest process has for answers and its last flush when the server died. */
export const INGEST_ORPHAN_MS_MAX = 2_000;
/** Every ingest process says so often that it lives. */
export const INGEST_PULSE_MS = 1_000;
/** An ingest process not heard for so many pulses is not ready, as `/ready` says. */
export const INGEST_PULSES_LATE_MAX = 3;
/** An ingest process not heard for so many pulses that does not compute hangs and is killed. */
export const INGEST_PULSES_MISSED_MAX = 15;
/** An ingest process that computes, or waits for CPU or disk, has so many pulses instead. */
export const INGEST_PULSES_SLOW_MAX = 120;
/** A process that does not tell its metrics within this time is left out. */
export const INGEST_METRICS_MS_MAX = 1_000;

// Transformations API (decisions §4)
/** Body of an API request; larger is 413. */
export const BODY_BYTES_MAX = 4 << 20;
/** A body that is too large is read and forgotten up to this, so that its sender sees the 413. */
export const BODY_DISCARDED_BYTES_MAX = 64 << 20;
/** Code of a revision, in UTF-8. */
export const CODE_BYTES_MAX = 1 << 20;
/** Any name, after trimming. */
export const NAME_CHARS_MAX = 255;
/** Description of a transformation or library. */
export const DESCRIPTION_CHARS_MAX = 4_096;
/** Test events of one request or item. */
export const TEST_EVENTS_MAX = 500;
/** Test events that are kept with a revision, to test it again when it is published again. */
export const TEST_EVENTS_KEPT_BYTES_MAX = 65_536;
/** Nesting of a JSON body. */
export const JSON_LEVELS_MAX = 64;
/** Versions listed without `count`. */
export const VERSIONS_COUNT_DEFAULT = 5;
/** Highest `count`. */
export const VERSIONS_COUNT_MAX = 1_000;
/** Items on a page of `/v2` lists. */
export const PAGE_ITEMS_MAX = 100;
/** Long lists without pages that a workspace may be sent at once; beyond it 429. */
export const LISTS_OF_WORKSPACE_MAX = 4;
/** How long a list without pages is written before other requests get their turn. */
export const LIST_TURN_MS = 5;
/** What is written of a list without pages before its client must take it, in UTF-16 units. */
export const LIST_CHUNK_CHARS = 256 << 10;
/** Transformations, and libraries, of one publish or test request. */
export const PUBLISH_ITEMS_MAX = 500;

// Control plane listener
/** Body of a request that needs no token; more is 413. */
export const OPEN_BODY_BYTES_MAX = 4_096;
/** From the first to the last byte of a body: a slow sender holds a connection no longer. */
export const BODY_SECONDS_MAX = 30;
/** Ids in a body; `externalId` is the caller's own text, the others have 27 characters. */
export const ID_CHARS_MAX = 255;
/** A member's e-mail address (RFC 3696: 320). */
export const EMAIL_CHARS_MAX = 320;
/** Things that are wrong with one request that are told at once. */
export const DETAILS_MAX = 20;
/** Destinations that one request may connect a transformation to. */
export const DESTINATION_REFERENCES_MAX = 1_000;
/** Permissions that one request may name, repeated ones counted. */
export const PERMISSIONS_MAX = 100;
/** The last page of a list that may be asked for. */
export const PAGE_MAX = 1_000_000;
/** A token or a write key may send at once what its rate allows in this time. */
export const RATE_BURST_SECONDS = 2;
/** Tokens, or sources, whose use is remembered for a rate limit. */
export const RATE_KEYS_MAX = 10_000;
/** Live tails of one token; one more is 429. */
export const TAILS_OF_TOKEN_MAX = 10;
/** Live tails in all; one more is 429. */
export const TAILS_MAX = 100;
/** How often a live tail shows that it lives, and looks whether its token still does. */
export const TAIL_HEARTBEAT_MS = 1_000;
/** Beats in a row at which a live tail's reader has taken nothing; then the tail ends. */
export const TAIL_STALLED_BEATS_MAX = 30;
/** Unsent bytes of one live tail; beyond it a slow reader misses messages. */
export const TAIL_PENDING_BYTES_MAX = 1 << 20;

// Catalog
/** Of a credential's name; it is part of a key, and keys end at 1,978 bytes. */
export const CREDENTIAL_NAME_CHARS_MAX = 1_024;
/** Of a credential's value. */
export const CREDENTIAL_VALUE_CHARS_MAX = 65_536;
/** Earlier live windows that a connection keeps apart when it is paused again and again. */
export const CONNECTION_WINDOWS_MAX = 16;
/** Transformations whose live program is kept in memory; the longest unchanged one goes first. */
export const LIVE_PROGRAMS_MAX = 4_096;

// Authentication
/** Randomness of a generated token. */
export const TOKEN_RANDOM_BITS = 192;
/** A browser that signed in with a token has to do so again after this long. */
export const SESSION_SECONDS_MAX = 43_200;
/** Browsers signed in with one token; the one that signed in first goes first. */
export const SESSIONS_OF_TOKEN_MAX = 32;
/** Sign-ins of one client's address a second, over the long run; more are 429. */
export const SIGN_INS_PER_SECOND_MAX = 5;
/** `lastUsedAt` of a token is written at most this late. */
export const TOKEN_USE_FLUSH_MS = 2_000;

// Publishing
/** Times that code is tested again because published code changed meanwhile. */
export const PUBLISH_ATTEMPTS_MAX = 5;
/** Throw-away guests that one request has at once. */
export const PUBLISH_CHECKS_AT_ONCE = 4;
/** CPU time of user code for all tests of one request; what did not run by then fails. */
export const TEST_CPU_MS_MAX = 10_000;
/** On the clock, for code that sleeps; it begins anew with each guest of the request. */
export const TEST_WALL_MS_MAX = 120_000;
/** Outputs of the tests of one request; the events that would make more fail. */
export const TEST_OUTPUT_BYTES_MAX = 8 << 20;
/** Requests of one workspace that test code, under way or waiting; more are 503. */
export const TEST_REQUESTS_OF_WORKSPACE_MAX = 32;
/** Requests of all workspaces that test code, under way or waiting; more are 503. */
export const TEST_REQUESTS_MAX = 256;

// Pipeline
/** Events of one lane that are read but not yet settled. */
export const LANE_WINDOW_EVENTS_MAX = 4_096;
/** Events of one lane that are read and whose settling is not on disk: what a crash may repeat. */
export const LANE_UNCOMMITTED_EVENTS_MAX = 8_192;
/** Bytes of one lane that are read, or made of that by code, but not yet settled. */
export const LANE_WINDOW_BYTES_MAX = 16 << 20;
/** A lane that holds less may go on until its workspace, and all, hold twice what they may. */
export const LANE_HELD_BYTES_MIN = 256 << 10;
/** As `LANE_WINDOW_BYTES_MAX`, of all lanes of a workspace. */
export const WORKSPACE_HELD_BYTES_MAX = 64 << 20;
/** What the lanes of a workspace may hold, whatever the others hold. */
export const WORKSPACE_HELD_BYTES_MIN = 2 << 20;
/** As `LANE_WINDOW_BYTES_MAX`, of all lanes. */
export const LANES_HELD_BYTES_MAX = 128 << 20;
/** Deliveries of one lane under way at once; never two of one user's events. */
export const LANE_PARTITIONS = 8;
/** Events that user code gets at once. */
export const TRANSFORM_BATCH_EVENTS_MAX = 100;
/** Replays of one lane that are on their way at once, beside its live events. */
export const LANE_REPLAYS_EVENTS_MAX = 256;
/** Longest wait after the first failed attempt; it doubles with each further one. */
export const RETRY_DELAY_MS_MIN = 500;
/** Longest wait between two attempts, unless the receiver asks for more. */
export const RETRY_DELAY_MS_MAX = 60_000;
/** Failed attempts after which an event is given up although others of its lane get through. */
export const POISON_ATTEMPTS_MAX = 8;
/** Failed attempts of several events after which they are sent one by one. */
export const SPLIT_ATTEMPTS_MIN = 3;
/** Failing for so long a destination is down: events past the retry window go untried. */
export const DOWN_MS_MIN = 10_000;
/** Bytes of one delivery, beyond its first event. */
export const DELIVERY_BYTES_MAX = 4 << 20;
/** One read of the event log, shared by all lanes that are there. */
export const FEED_READ_BYTES_MAX = 256 << 10;
/** Decoded reads of the event log that are kept for the lanes that come after. */
export const FEED_KEPT_READS_MAX = 8;
/** Built events that are kept, with their records; older ones are built again when a lane asks. */
export const FEED_KEPT_EVENTS_BYTES_MAX = 8 << 20;
/** How late a lane sees a changed connection when nothing else wakes it. */
export const TOPOLOGY_POLL_MS = 100;
/** How often the event log is trimmed. */
export const TRIM_INTERVAL_MS = 10_000;
/** Records this young are not trimmed: a connection that is just being made may start there. */
export const TRIM_AGE_MS_MIN = 60_000;
/** At shutdown requests under way, and then attempts, get this long before they are cut. */
export const DRAIN_MS_MAX = 4_000;
/** Dead letters of one page of the API. */
export const DEAD_LETTERS_PAGE_MAX = 1_000;
/** Events of dead letters that are read at once, beyond the first; a page goes on after them. */
export const DEAD_LETTERS_PAGE_CHARS_MAX = 8 << 20;

// Destinations
/** Events of one webhook request. */
export const WEBHOOK_BATCH_EVENTS_MAX = 1_000;
/** Time for a webhook request, look-up to last byte, unless its config says otherwise. */
export const WEBHOOK_TIMEOUT_MS_DEFAULT = 10_000;
/** Longest time that a webhook's config may ask for. */
export const WEBHOOK_TIMEOUT_MS_MAX = 60_000;
/** What is read of a receiver's answer. */
export const WEBHOOK_ANSWER_BYTES_MAX = 65_536;
/** Own headers of a webhook. */
export const WEBHOOK_HEADERS_MAX = 50;
/** Length of a webhook's URL. */
export const WEBHOOK_URL_CHARS_MAX = 2_048;
/** Length of a URL that has an event in its query; a longer one makes a dead letter. */
export const WEBHOOK_QUERY_URL_CHARS_MAX = 65_536;
/** Levels of properties that go into the query of a URL; more make a dead letter. */
export const WEBHOOK_QUERY_LEVELS_MAX = 64;
/** Length of a webhook's signing secret. */
export const WEBHOOK_SECRET_CHARS_MAX = 256;
/** `Retry-After` beyond this is cut: a receiver cannot park events for days. */
export const RETRY_AFTER_MS_MAX = 3_600_000;
/** Status line and headers of a receiver's answer. */
export const EGRESS_HEAD_BYTES_MAX = 16_384;
/** How long an idle connection to a receiver is kept. */
export const EGRESS_IDLE_MS_MAX = 60_000;
/**
 * Requests to receivers under way, and as many of user code, but at most an eighth of the process's
 * descriptors; each has a connection. A workspace gets as many as are left for others, beyond it
 * they wait for their turn.
 */
export const EGRESS_REQUESTS_MAX = 2_048;
/**
 * Connections of destinations that keep theirs (databases, brokers), but at most an eighth of the
 * process's descriptors. A workspace gets as many as are left for others, beyond it they wait.
 */
export const EGRESS_CONNECTIONS_MAX = 512;
/** Idle connections of all receivers, and as many of user code; the longest idle goes first. */
export const EGRESS_IDLE_CONNECTIONS_MAX = 256;
/** Checked addresses of a host name are used for as long as its records hold, but not longer. */
export const EGRESS_RESOLVED_SECONDS_MAX = 30;
/** Checked addresses of a host name are used for so long although its records hold for less. */
export const EGRESS_RESOLVED_SECONDS_MIN = 1;
/** Time for the look-up of a host name; a query that is under way then is waited for. */
export const EGRESS_LOOKUP_MS_MAX = 8_000;
/** Look-ups under way; a workspace gets as many as are left for others, beyond it they wait. */
export const EGRESS_LOOKUPS_MAX = 256;
/** Host names whose checked addresses are remembered. */
export const EGRESS_NAMES_MAX = 10_000;
/** Events of one write to a file. */
export const FILE_BATCH_EVENTS_MAX = 1_000;
/** Of a file that is opened, a longer last line is not mended: an event is 3 MiB at most. */
export const FILE_LINE_BYTES_MAX = 64 << 20;
/** Length of a file destination's path. */
export const FILE_PATH_CHARS_MAX = 1_024;

// Sandbox (decisions §7)
/** CPU time of user code for a batch of events. */
export const GUEST_CPU_MS_MAX = 4_000;
/** From the guest's own timeout to the host's SIGKILL. */
export const GUEST_KILL_GRACE_MS = 500;
/** A guest that neither computes nor answers (the machine is busy, or it sleeps) has this long. */
export const GUEST_WALL_MS_MAX = 20_000;
/** Events of one batch that may each use up the whole CPU budget; the rest get a short one. */
export const GUEST_CULPRITS_MAX = 4;
/** CPU time of an event after `GUEST_CULPRITS_MAX` others used up the whole budget. */
export const GUEST_SHORT_CPU_MS_MAX = 100;
/** Above what an idle guest has. */
export const GUEST_MEMORY_BYTES_MAX = 256 << 20;
/** What a guest may map (`ulimit -v`): what honest code comes to (760 MB), and some to grow. */
export const GUEST_ADDRESS_KIB_MAX = 900_000;
/** Above what an idle guest has, after a batch: it is replaced before it reaches its limit. */
export const GUEST_RECYCLE_MEMORY_BYTES = 150 << 20;
/** Memory and CPU of busy guests are read this often (2.3 GB/s is the fastest growth measured). */
export const GUEST_MEMORY_POLL_MS = 25;
/** One message from host to guest. */
export const GUEST_FRAME_BYTES_MAX = 64 << 20;
/** One message from guest to host; a guest that sends more is killed. */
export const GUEST_ANSWER_BYTES_MAX = 5 << 20;
/** Of a guest's message all but the outputs: counts, errors, lines of `log(...)`. */
export const GUEST_HEADER_BYTES_MAX = 1 << 20;
/** Events that go to a guest at once; a larger batch goes in parts. */
export const GUEST_INPUT_EVENTS_MAX = 500;
/** Bytes of events that go to a guest at once, metadata included. */
export const GUEST_INPUT_BYTES_MAX = 4 << 20;
/** Outputs of one event. */
export const GUEST_OUTPUTS_MAX = 1_000;
/** Outputs of one event, and of those that go back at once, in UTF-16 units of JSON. */
export const GUEST_OUTPUT_CHARS_MAX = 1 << 20;
/** Outputs that go back at once. */
export const GUEST_ANSWER_OUTPUTS_MAX = 10_000;
/** Nesting of an output. */
export const GUEST_OUTPUT_LEVELS_MAX = 1_000;
/** Outputs of a batch of live events; the rest of a batch that makes more runs after they went. */
export const GUEST_BATCH_OUTPUT_BYTES_MAX = 2 << 20;
/** Message of one error of user code. */
export const GUEST_ERROR_CHARS_MAX = 4_096;
/** Errors that go back at once, in UTF-16 units of JSON; more of them are cut to their start. */
export const GUEST_ERRORS_CHARS_MAX = 65_536;
/** Lines of `log(...)` kept of a test run. */
export const GUEST_LOGS_MAX = 1_000;
/** Length of one line of `log(...)`. */
export const GUEST_LOG_CHARS_MAX = 4_096;
/** All lines of `log(...)` of a test run, in UTF-16 units of JSON. */
export const GUEST_LOGS_CHARS_MAX = 131_072;
/** Modules that code may name in imports. */
export const GUEST_IMPORTS_MAX = 1_000;
/** Of what a guest writes to standard error, the rest is dropped. */
export const GUEST_STDERR_BYTES_MAX = 8_192;
/** A guest that writes more than this to standard error is killed: its own runtime does not. */
export const GUEST_STDERR_FLOOD_BYTES = 1 << 20;
/** Threads of a guest (its runtime makes about ten); a guest that has more is killed. */
export const GUEST_THREADS_MAX = 256;
/** CPU time of a guest that is asked nothing, beyond a twentieth of the time; then it is killed. */
export const GUEST_IDLE_CPU_MS_MAX = 2_000;
/** Idle guests are looked at this often. */
export const GUEST_IDLE_POLL_MS = 1_000;
/** Confined guests that wait for work, per language. */
export const GUEST_WARM_SPARES = 1;
/** Guests of live events alive at once, as far as memory goes; then workspaces take turns. */
export const GUESTS_MAX = 512;
/** Share of the machine's or container's memory for all guests; beyond it idle ones end first. */
export const GUESTS_MEMORY_SHARE_MAX = 0.5;
/** When workspaces take turns, a guest makes room for another at most so often. */
export const GUEST_TURNOVER_MS = 100;
/** Guests for publishing and test runs, beside those of live events; workspaces take turns. */
export const THROW_AWAY_GUESTS_MAX = 16;
/** Guests of one workspace for publishing and tests at once; its further tests wait. */
export const THROW_AWAY_GUESTS_OF_WORKSPACE_MAX = 4;
/** Events after which a guest is replaced. */
export const GUEST_EVENTS_MAX = 1_000_000;
/** Age at which a guest is replaced. */
export const GUEST_AGE_MS_MAX = 600_000;
/** An unused guest ends. */
export const GUEST_IDLE_MS_MAX = 60_000;
/** Programs loaded in one guest; the longest unused one goes first. */
export const GUEST_PROGRAMS_MAX = 256;
/** A guest that does not even start is tried again after this long, doubled each time. */
export const GUEST_RESTART_DELAY_MS_MIN = 100;
/** Longest delay until a guest that does not even start is tried again. */
export const GUEST_RESTART_DELAY_MS_MAX = 30_000;
/** CPU time of a guest's start, and how long it may use none before it counts as hung. */
export const GUEST_START_MS_MAX = 20_000;

/** CPU time of late beyond half of an equal share, when few compute; then a guest computes by turns. */
export const GUEST_BURST_CPU_MS_MAX = 250;
/** Turn of a guest that computes by turns, when there are more of them than processors. */
export const GUEST_TURN_MS = 100;
/** Batches in a row without a good event after which a program is suspended. */
export const SUSPENSION_COST = 20;
/** A failed batch that cost its guest its time or its life counts for so many. */
export const SUSPENSION_COST_OF_CULPRITS = 4;
/** CPU time of batches without a good event after which their program is suspended. */
export const SUSPENSION_CPU_MS = 5_000;
/** First suspension of a program; each further one is twice as long. */
export const SUSPENDED_MS_MIN = 1_000;
/** Longest suspension of a program. */
export const SUSPENDED_MS_MAX = 300_000;
/** Failing programs that are remembered. */
export const SUSPENDED_PROGRAMS_MAX = 10_000;

// Sandbox, Python
/** Of Python's heap (the interpreter and its modules take 38 MB of it). */
export const GUEST_PYTHON_HEAP_BYTES_MAX = 256 << 20;
/** Above what an idle Python guest has (220 MB): a heap at its limit takes 220 MB more. */
export const GUEST_PYTHON_MEMORY_BYTES_MAX = 320 << 20;
/** Above what an idle Python guest has, after a batch: it is replaced before its limit. */
export const GUEST_PYTHON_RECYCLE_MEMORY_BYTES = 192 << 20;
/** Address space of a Python guest: two reservations of 4 GiB, 1.4 GiB, and 0.7 GiB to grow. */
export const GUEST_PYTHON_ADDRESS_KIB_MAX = 10_800_000;
/** Frames that pass through a Python guest between two collections of JavaScript's garbage. */
export const GUEST_PYTHON_GARBAGE_BYTES = 32 << 20;
/** Programs in one Python guest, each with standard modules of its own (1 to 3 MB). */
export const GUEST_PYTHON_PROGRAMS_MAX = 32;

// `fetch` of user code
/** From the look-up to the last byte of the answer; also what code gets that asks for more. */
export const FETCH_MS_MAX = 10_000;
/** All waiting of one batch for answers to its `fetch`. */
export const FETCH_WAIT_MS_MAX = 60_000;
/** Requests that user code may make with `fetch` for one batch. */
export const FETCHES_MAX = 1_000;
/** Requests with `fetch` of one batch under way at once; the others wait for their turn. */
export const FETCHES_AT_ONCE_MAX = 50;
/** URL, headers and body of one request, in UTF-16 units. */
export const FETCH_REQUEST_CHARS_MAX = 1 << 20;
/** Of all requests of a batch without an answer, in UTF-16 units; beyond it the batch waits. */
export const FETCH_REQUESTS_CHARS_MAX = 8 << 20;
/** Body of one answer to user code's `fetch`. */
export const FETCH_ANSWER_BYTES_MAX = 1 << 20;
/** Bodies of answers that a batch has not taken, in UTF-16 units; beyond it no request starts. */
export const FETCH_ANSWERS_CHARS_MAX = 8 << 20;

// Process
/** From SIGTERM to the end, whatever is still in flight. */
export const SHUTDOWN_MS_MAX = 10_000;
