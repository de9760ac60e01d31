/**
 * Limits that a caller or an operator can reach, grouped by area; each name ends in its unit.
 * Limits of one part of the server are in `limits.ts` in its directory, internal ones beside their
 * code. The reference of limits is generated from these files, group by group.
 */

// The data plane
/**
 * Maximum length of the path and query of a pixel request, as sent. A request with a longer path
 * and query is answered with 414.
 */
export const PIXEL_TARGET_BYTES_MAX = 32_768;
/**
 * Maximum number of query parameters of a pixel request. Repeated names count each time. A request
 * with more is answered with 400.
 */
export const PIXEL_PARAMETERS_MAX = 1_000;
/**
 * Maximum number of levels in the name of a pixel's query parameter, such as two in
 * `properties.plan`. A request with more levels is answered with 400.
 */
export const PIXEL_LEVELS_MAX = 16;
/**
 * Highest array index in the name of a pixel's query parameter. A larger number in a name becomes
 * the key of an object instead.
 */
export const PIXEL_ARRAY_INDEX_MAX = 999;
/**
 * Maximum number of gaps in the arrays of one event. A gap is an element that no parameter of the
 * pixel sets; it becomes `null`. A pixel with more gaps is answered with 400.
 */
export const PIXEL_ARRAY_GAPS_MAX = 500;
/**
 * Maximum number of significant digits of a parameter's value that becomes a JSON number. A value
 * with more digits stays a string.
 */
export const PIXEL_NUMBER_DIGITS_MAX = 15;
/**
 * Maximum nesting depth of the objects and arrays in an event of an SDK. An event with more levels
 * is refused; the other events of its batch are kept.
 */
export const SDK_EVENT_LEVELS_MAX = 64;
/**
 * Maximum size of the JSON of an event of an SDK, including the fields that the event inherits from
 * its batch. A larger event is refused; the other events of its batch are kept.
 */
export const SDK_EVENT_BYTES_MAX = 262_144;
/**
 * Maximum size of the messageId of an SDK's event, as sent. An event with a larger messageId gets a
 * new one from the server.
 */
export const SDK_MESSAGE_ID_BYTES_MAX = 255;
/** Maximum number of events in one request of an SDK. A request with more is answered with 413. */
export const SDK_BATCH_EVENTS_MAX = 20_000;
/**
 * Maximum size of the events of one SDK request. If an event inherits `context` or `integrations`
 * from the batch, the inherited values count for each such event. A request above this size is
 * answered with 413.
 */
export const SDK_BATCH_EVENTS_BYTES_MAX = 16 << 20;
/**
 * Maximum size of the request line and headers of a request to the data plane. A request above this
 * size is answered with 431. The URL of a pixel has the limit `PIXEL_TARGET_BYTES_MAX`.
 */
export const HTTP_HEAD_BYTES_MAX = 262_144;
/**
 * Maximum number of headers of a request to the data plane. A request with more is answered with
 * 431.
 */
export const HTTP_HEADERS_MAX = 200;
/**
 * Maximum length of the method of a request to the data plane. A request with a longer method is
 * answered with 400.
 */
export const HTTP_METHOD_CHARS_MAX = 32;
/**
 * Maximum size of the body of a request to the data plane that is not an SDK request. The server
 * ignores the contents of such a body, and answers a larger one with 413.
 */
export const HTTP_BODY_BYTES_MAX = 65_536;
/**
 * Maximum size of the body of an SDK request, both as sent and after decompression. A larger body
 * is answered with 413. SDKs add events to a batch until it has 4 MiB; the fifth MiB is for the
 * last event.
 */
export const SDK_BODY_BYTES_MAX = 5 << 20;
/**
 * Maximum number of bytes by which a chunked body, with its chunk framing (sizes and line ends),
 * may exceed the largest permitted size of a body. A request with a longer body is answered with
 * 413.
 */
export const HTTP_CHUNK_FRAMING_BYTES_MAX = 65_536;
/**
 * Minimum rate at which a client must send a body, in bytes per second. A connection is closed when
 * a body takes `IDLE_CONNECTION_SECONDS_MAX` longer than its received bytes take at this rate.
 */
export const HTTP_BODY_BYTES_PER_SECOND_MIN = 8_192;
/**
 * Maximum number of open HTTP connections of one ingest process (which receives events); fewer if
 * the process may not open enough file descriptors. At the maximum, the server closes an idle
 * connection for each new one.
 */
export const HTTP_CONNECTIONS_MAX = 10_000;
/**
 * Maximum total size of the incomplete requests on all connections of one ingest process. A request
 * that makes the total exceed it is answered with 503; once more than `HTTP_HEAD_BYTES_MAX` of a
 * request has arrived, this happens at three quarters of the maximum. While an earlier response is
 * being sent on the connection, the connection is closed instead.
 */
export const HTTP_WAITING_BYTES_MAX = 64 << 20;
/**
 * Maximum total size of the incomplete requests of one client network (IPv4 address, or first 64
 * bits of an IPv6 address) on one ingest process, except for trusted proxies. A request that makes
 * the total exceed it is answered with 503. While an earlier response is being sent on the
 * connection, the connection is closed instead.
 */
export const HTTP_WAITING_BYTES_PER_NETWORK_MAX = 16 << 20;
/**
 * Time after which the server closes a connection that sends no request or does not read the
 * response.
 */
export const IDLE_CONNECTION_SECONDS_MAX = 10;
/**
 * Maximum number of entries of `X-Forwarded-For` that are read, from right to left, until one is
 * not a trusted proxy. The leftmost entry read counts as the client.
 */
export const FORWARDED_HOPS_MAX = 32;
/**
 * Length of a burst. A write key may send at once as many events as its rate allows in this time.
 */
export const RATE_BURST_SECONDS = 2;
/**
 * Maximum size of the records that wait to be written to disk. Above this size, requests with
 * events are answered with 503.
 */
export const LOG_PENDING_BYTES_MAX = 64 << 20;
/**
 * Share above which `/ready` of a server returns 503. It applies to two shares: the share of the
 * last minute's events that were refused with 503, and the share of the partitions that cannot be
 * written.
 */
export const INGEST_REFUSED_SHARE_MAX = 0.5;
/** Smallest share of refused events (503) in the last minute's events at which `/ready` warns. */
export const INGEST_REFUSED_SHARE_WARNED = 0.01;
/**
 * Minimum number of events in the last minute for which `/ready` judges the share that was refused.
 * With fewer events, `/ready` ignores this share.
 */
export const INGEST_JUDGED_EVENTS_MIN = 20;

// TLS
/** Maximum size of a file with certificates or a private key. */
export const TLS_FILE_BYTES_MAX = 1 << 20;
/**
 * Time between two checks whether the certificate and key files of the listeners have changed
 * (`tls.certificate`, `tls.key` and similar settings). Changed files are read again.
 */
export const TLS_FILES_CHECK_MS = 2_000;
/** Time before the expiry of a certificate at which `/ready` begins to warn. */
export const TLS_EXPIRY_WARNING_SECONDS = 1_209_600;
/**
 * Maximum time in which a client of the control plane must complete the TLS handshake. On the data
 * plane the maximum is `IDLE_CONNECTION_SECONDS_MAX`.
 */
export const TLS_HANDSHAKE_SECONDS_MAX = 10;
/**
 * Maximum number of incomplete TLS handshakes with the control plane. When one more begins, the
 * oldest is ended.
 */
export const TLS_HANDSHAKES_MAX = 256;
/**
 * Maximum number of open TLS connections to the control plane. Further connections are closed at
 * once.
 */
export const TLS_CONNECTIONS_MAX = 4_096;

// The control plane
/**
 * Maximum size of the body of an API request with code or events. A request with a larger body is
 * answered with 413.
 */
export const BODY_BYTES_MAX = 4 << 20;
/**
 * Maximum time from the first to the last byte of a request's body, so that slow senders do not
 * occupy connections. A slower request is answered with 400. The time starts again after a long
 * body has waited for memory.
 */
export const BODY_SECONDS_MAX = 30;
/** Maximum nesting depth of the objects and arrays in the JSON body of an API request. */
export const JSON_LEVELS_MAX = 64;
/** Maximum number of errors that one response lists in `details`. */
export const DETAILS_MAX = 20;
/** Maximum length of the name of an item, such as a source. Spaces at its ends do not count. */
export const NAME_CHARS_MAX = 255;
/** Maximum number of origins of web pages that a source's setting `allowedOrigins` lists. */
export const SOURCE_ORIGINS_MAX = 100;
/**
 * Maximum value of a source's setting `dedupSeconds`: the time in which an event with a repeated
 * messageId is not delivered again.
 */
export const DEDUP_SECONDS_MAX = 86_400;
/** Maximum length of the description of a transformation or library. */
export const DESCRIPTION_CHARS_MAX = 4_096;
/** Maximum length of the note that says why a revision was saved or published. */
export const REVISION_NOTE_CHARS_MAX = 500;
/**
 * Maximum length of an id in a request, such as an `externalId` that the caller has chosen. Ids
 * that the server generates have 27 characters.
 */
export const ID_CHARS_MAX = 255;
/** Maximum length of a member's email address (RFC 3696: 320). */
export const EMAIL_CHARS_MAX = 320;
/**
 * Maximum number of consent ids of a destination. The destination gets no event that lists one of
 * them as denied.
 */
export const CONSENT_IDS_MAX = 100;
/** Maximum number of conditions in the event filter of a destination. */
export const FILTER_CONDITIONS_MAX = 10;
/** Maximum number of values in one condition of an event filter. */
export const FILTER_VALUES_MAX = 100;
/** Maximum length of each path and each value in the event filter of a destination. */
export const FILTER_CHARS_MAX = 255;
/** Maximum size of the code of a transformation or library, in UTF-8. */
export const CODE_BYTES_MAX = 1 << 20;
/**
 * Maximum length of the name of a credential (secret for user code). The name is limited because it
 * is part of a database key.
 */
export const CREDENTIAL_NAME_CHARS_MAX = 1_024;
/** Maximum length of the value of a credential. */
export const CREDENTIAL_VALUE_CHARS_MAX = 65_536;
/**
 * Maximum total length of the values of all credentials of a workspace. Each guest process of the
 * workspace gets all these values, and every answer of a receiver is searched for them.
 */
export const CREDENTIAL_VALUES_CHARS_MAX = 1 << 20;
/** Maximum number of destinations to which one request may connect a transformation. */
export const DESTINATION_REFERENCES_MAX = 1_000;
/** Maximum number of permissions in one request. Repeated permissions count each time. */
export const PERMISSIONS_MAX = 100;
/** Number of items on one page of a list under `/v2`. */
export const PAGE_ITEMS_MAX = 100;
/** Highest page number that a request for a list may have. */
export const PAGE_MAX = 1_000_000;
/**
 * Number of versions in the response to a request for the versions of a transformation or library,
 * if the request does not set `count`.
 */
export const VERSIONS_COUNT_DEFAULT = 5;
/** Highest `count` that a request for the versions of a transformation or library can set. */
export const VERSIONS_COUNT_MAX = 1_000;
/**
 * Maximum number of long lists (streamed whole, without pages) that one workspace may receive at
 * the same time. A further request for such a list is answered with 429.
 */
export const LISTS_OF_WORKSPACE_MAX = 4;
/**
 * Maximum number of groups of dead letters (events that were given up) that the API lists, the
 * largest groups first. A group has the dead letters of one destination with the same failure.
 */
export const DEAD_LETTER_GROUPS_MAX = 1_000;
/**
 * Maximum number of groups of dead letters (those with the same failure) that the filter of one
 * replay or purge names.
 */
export const DEAD_LETTER_FILTER_GROUPS_MAX = 200;
/** Maximum number of dead letters on one page of the API. */
export const DEAD_LETTERS_PAGE_MAX = 1_000;
/** Time after which a user who signed in to the console must sign in again. */
export const SESSION_SECONDS_MAX = 43_200;
/**
 * Maximum number of browsers that are signed in with one token at the same time. When one more
 * signs in, the oldest session ends.
 */
export const SESSIONS_OF_TOKEN_MAX = 32;
/**
 * Maximum number of sources in a workspace's overview; the same maximum applies to destinations,
 * and to problems. The overview shows the busiest sources, the most urgent destinations and the
 * worst problems.
 */
export const OVERVIEW_ITEMS_MAX = 30;
/**
 * Lag (age of the oldest undelivered event) at or above which the overview lists a destination as a
 * problem. The default alert rule has the same limit.
 */
export const OVERVIEW_LAG_SECONDS_MIN = 900;
/**
 * Maximum number of connections (of a source to a destination) that one overview of a workspace
 * shows.
 */
export const OVERVIEW_CONNECTIONS_MAX = 60;
/**
 * Maximum number of sources, destinations or connections of a workspace whose state is measured at
 * once, for the overview, alerts, and lists sorted by state or figures. Lists sorted by name have
 * no such maximum.
 */
export const STATUS_ITEMS_MAX = 20_000;
/**
 * Smallest number of destinations of a workspace that counts as large. Requests for the state of a
 * large workspace share one result if they arrive at about the same time.
 */
export const STATUS_SHARED_ITEMS_MIN = 1_000;
/** Maximum age of the result that several requests for the state of a workspace share. */
export const STATUS_SHARED_MS_MAX = 3_000;
/**
 * Maximum number of destinations in one message with which a node asks the other nodes of a cluster
 * for the state of these destinations.
 */
export const STATUS_DESTINATIONS_ASKED_MAX = 500;
/** Maximum number of rows on one page of a list that shows the state of its items. */
export const STATUS_PAGE_MAX = 100;
/** Maximum number of points in each time series of a response with figures. */
export const METRIC_POINTS_MAX = 400;
/**
 * Maximum number of suspended transformations of one workspace that one node reports. A suspended
 * transformation does not run for a while, because its recent events failed.
 */
export const SUSPENSIONS_SHOWN_MAX = 500;
/**
 * Maximum number of concurrent requests of one workspace to one node that make it ask all nodes of
 * the cluster. A further request is answered with 429.
 */
export const STATUS_QUESTIONS_OF_WORKSPACE_MAX = 16;
/**
 * Maximum number of concurrent live tails (streams of a workspace's new events) of one workspace. A
 * request for one more is answered with 429.
 */
export const TAILS_OF_WORKSPACE_MAX = 10;
/**
 * Maximum number of concurrent live tails (streams of new events) of all workspaces. A request for
 * one more is answered with 429.
 */
export const TAILS_MAX = 100;
/**
 * Maximum number of unsent bytes of one live tail (stream of new events); only the last event added
 * may exceed it. Once it is reached, further events are left out until the client has read more.
 */
export const TAIL_PENDING_BYTES_MAX = 1 << 20;
/**
 * Maximum number of recent events in one response. For each destination and outcome (`delivered`,
 * `dropped`, `dead-letter`), a node keeps the same number of latest events in memory.
 */
export const RECENT_EVENTS_MAX = 100;
/**
 * Maximum rate, in events per second, at which a node adds events with the same destination and
 * outcome to its recent events. Further events are left out. After a pause, up to
 * `RECENT_EVENTS_MAX` are added at once.
 */
export const RECENT_EVENTS_PER_SECOND_MAX = 10;
/**
 * Maximum size of an event that is kept as a recent event. For a larger event, only the outcome is
 * kept.
 */
export const RECENT_EVENT_BYTES_MAX = 64 << 10;
/**
 * Maximum memory for the recent events of one workspace, on each node. Above it, fewer events are
 * kept for the destinations whose events take the most bytes.
 */
export const RECENT_EVENTS_OF_WORKSPACE_BYTES_MAX = 8 << 20;
/**
 * Maximum memory for the recent events of all workspaces, on each node. Above it, fewer events are
 * kept for the workspaces whose events take the most bytes.
 */
export const RECENT_EVENTS_BYTES_MAX = 64 << 20;
/**
 * Maximum total size of the events from the event logs in one response that lists recent events.
 * The events that each node returns from its memory have a separate limit of the same size.
 */
export const RECENT_ANSWER_BYTES_MAX = 1 << 20;
/**
 * Maximum number of bytes that a request for recent events reads from the event logs, at their
 * ends.
 */
export const RECENT_SCAN_BYTES_MAX = 16 << 20;
/**
 * Maximum number of concurrent requests of one workspace for recent events. A further request is
 * answered with 429.
 */
export const RECENT_REQUESTS_OF_WORKSPACE_MAX = 8;
/**
 * Maximum number of events in the response to one search of stored events. A search without `limit`
 * returns at most 50.
 */
export const SEARCH_EVENTS_MAX = 100;
/**
 * Maximum size of the events in the response to one search, as JSON. A search stops before the
 * event that would exceed it. The first event found is in the response whatever its size.
 */
export const SEARCH_ANSWER_BYTES_MAX = 4 << 20;
/**
 * Maximum size of the events that one search reads. A search that reaches it stops, and its
 * response has a cursor with which another request continues.
 */
export const SEARCH_BYTES_MAX = 256 << 20;
/**
 * Maximum time of one search. A search that reaches it stops, and its response has a cursor with
 * which another request continues.
 */
export const SEARCH_MS_MAX = 5_000;
/**
 * Maximum length of the cursor with which a request continues a search. It has room for a position
 * in each partition of the largest cluster.
 */
export const SEARCH_CURSOR_CHARS_MAX = 8_192;
/**
 * Number of exported events at which one export of a search ends; it may have up to
 * `SEARCH_EVENTS_MAX` more. If events are left, its last line has a cursor to continue the search.
 */
export const SEARCH_EXPORT_EVENTS_MAX = 10_000;
/** Maximum length of each string in the filter of a search. */
export const SEARCH_TEXT_CHARS_MAX = 1_024;
/**
 * Maximum number of concurrent searches of one workspace. A further search is answered with 429.
 */
export const SEARCHES_OF_WORKSPACE_MAX = 2;
/**
 * Maximum number of concurrent searches of all workspaces. A further search is answered with 429.
 * Whatever their number, all searches together take at most half of the time of the server's event
 * loop.
 */
export const SEARCHES_MAX = 16;

// Tests and publishing
/**
 * Maximum number of transformations, and also of libraries, in one request to publish or test code.
 */
export const PUBLISH_ITEMS_MAX = 500;
/**
 * Maximum number of test events in one request. One transformation or library in the request can
 * have all of them.
 */
export const TEST_EVENTS_MAX = 500;
/**
 * Maximum size of the test events that are stored with a version of code. They test the version
 * again when it is published later.
 */
export const TEST_EVENTS_KEPT_BYTES_MAX = 65_536;
/**
 * Maximum number of one workspace's requests to test code that run or wait at the same time.
 * Further requests are answered with 503.
 */
export const TEST_REQUESTS_OF_WORKSPACE_MAX = 32;
/**
 * Maximum number of all workspaces' requests to test code that run or wait at the same time.
 * Further requests are answered with 503.
 */
export const TEST_REQUESTS_MAX = 256;
/**
 * Maximum number of one workspace's updates of transformations and libraries that run or wait for
 * earlier updates of the same item at the same time. Further ones are answered with 503.
 */
export const CODE_UPDATES_OF_WORKSPACE_MAX = 128;
/**
 * Maximum CPU time of user code in all tests of one request. When it is used up, the test events
 * that have not run fail.
 */
export const TEST_CPU_MS_MAX = 10_000;
/**
 * Maximum wall-clock time of the tests of one request, which stops tests whose code sleeps. It is
 * counted from the arrival of the request, and again from each start of a guest (confined process
 * for user code) for it.
 */
export const TEST_WALL_MS_MAX = 120_000;
/**
 * Maximum size of the outputs of all tests of one request. Test events whose outputs would exceed
 * this size fail.
 */
export const TEST_OUTPUT_BYTES_MAX = 8 << 20;
/**
 * Maximum number of concurrent guest processes (which run user code) for tests. Guest processes for
 * live events are not counted. When the maximum is reached, workspaces take turns.
 */
export const THROW_AWAY_GUESTS_MAX = 16;
/**
 * Maximum number of concurrent guest processes (which run user code) for tests of one workspace.
 * Further tests of the workspace wait.
 */
export const THROW_AWAY_GUESTS_OF_WORKSPACE_MAX = 4;

// Alerts
/**
 * Maximum number of alert rules of a workspace. A request to create one more is answered with 409.
 */
export const ALERT_RULES_OF_WORKSPACE_MAX = 100;
/**
 * Maximum number of receivers of alerts of a workspace. A request to create one more is answered
 * with 409.
 */
export const ALERT_RECEIVERS_OF_WORKSPACE_MAX = 20;
/** Maximum number of email addresses of one receiver of alerts. */
export const ALERT_ADDRESSES_MAX = 20;
/** Maximum length of each secret of a receiver of alerts, such as its URL. */
export const ALERT_SECRET_CHARS_MAX = 2_048;
/** Maximum number of items, such as destinations, to which one alert rule can be restricted. */
export const ALERT_SUBJECTS_MAX = 100;
/** Maximum time that a condition must hold (or not hold) before an alert begins (or ends). */
export const ALERT_HOLD_SECONDS_MAX = 604_800;
/** Maximum number of open alerts of a workspace. A further one begins after another has ended. */
export const ALERTS_OPEN_OF_WORKSPACE_MAX = 200;
/**
 * Maximum number of alerts that are kept and listed for a workspace. Beyond it, the oldest alerts
 * are deleted.
 */
export const ALERTS_KEPT_OF_WORKSPACE_MAX = 1_000;
/**
 * Maximum number of alert notifications of a workspace in one hour, including test notifications.
 * Further notifications wait. If an alert ends while its notification waits, the notification is
 * not sent.
 */
export const ALERT_NOTIFICATIONS_PER_HOUR_MAX = 120;
/**
 * Maximum number of attempts to send a notification. If the last attempt fails, the notification
 * counts as failed.
 */
export const ALERT_ATTEMPTS_MAX = 20;
/** Maximum time between two attempts to send a notification. */
export const ALERT_RETRY_MS_MAX = 600_000;
/** Maximum time of one attempt to send a notification. */
export const ALERT_SEND_MS_MAX = 10_000;
/** Maximum length of the text of an alert. The rest is cut off. */
export const ALERT_MESSAGE_CHARS_MAX = 1_000;
/** Time between two evaluations of alert rules. */
export const ALERT_EVALUATION_MS = 10_000;

// User code
/**
 * Maximum CPU time of user code for one batch of events, and for each load of the code. JavaScript
 * code is stopped after as much wall-clock time. If the machine was too busy, it runs again with up
 * to 16 times as much.
 */
export const GUEST_CPU_MS_MAX = 4_000;
/**
 * Number of events of one program (user code) that may each use up the whole CPU time of a batch.
 * After these, each further event of the program gets only `GUEST_SHORT_CPU_MS_MAX`.
 */
export const GUEST_CULPRITS_MAX = 4;
/**
 * Interval at which the number of a program's events that count towards `GUEST_CULPRITS_MAX` goes
 * down by one. An event counts if it used up its CPU time or ended the guest process.
 */
export const CULPRIT_FORGOTTEN_MS = 60_000;
/**
 * Maximum CPU time of one event, once `GUEST_CULPRITS_MAX` other events of its program (user code)
 * have each used up the CPU time of a batch. The first event of a guest process gets a quarter of
 * `GUEST_CPU_MS_MAX` instead.
 */
export const GUEST_SHORT_CPU_MS_MAX = 100;
/**
 * Maximum time that a guest process (which runs user code) can take to answer while it uses no CPU
 * time, because its code sleeps or the machine is too busy to run it.
 */
export const GUEST_WALL_MS_MAX = 20_000;
/**
 * Maximum memory of a guest process above the memory of an idle guest. A guest that uses more is
 * killed.
 */
export const GUEST_MEMORY_BYTES_MAX = 256 << 20;
/**
 * Maximum heap size of Python in a guest process. The interpreter and its modules take 38 MB of it.
 */
export const GUEST_PYTHON_HEAP_BYTES_MAX = 256 << 20;
/**
 * Maximum memory of a Python guest process above the memory of an idle one, which takes 220 MB. A
 * guest that uses more is killed. A guest whose heap is full takes 440 MB in total.
 */
export const GUEST_PYTHON_MEMORY_BYTES_MAX = 320 << 20;
/** Maximum number of outputs that user code returns for one event. */
export const GUEST_OUTPUTS_MAX = 1_000;
/**
 * Maximum size, in UTF-16 units of JSON, of the outputs of one event, and of all outputs that a
 * guest process returns in one message.
 */
export const GUEST_OUTPUT_CHARS_MAX = 1 << 20;
/** Maximum nesting depth of an event that user code returns or that rudder-server sends. */
export const GUEST_OUTPUT_LEVELS_MAX = 1_000;
/** Maximum number of modules that user code may import. */
export const GUEST_IMPORTS_MAX = 1_000;
/** Maximum length of the message of one error that user code throws. */
export const GUEST_ERROR_CHARS_MAX = 4_096;
/** Maximum number of lines from `log(...)` that the result of a test run contains. */
export const GUEST_LOGS_MAX = 1_000;
/** Maximum length of one line that user code writes with `log(...)`. */
export const GUEST_LOG_CHARS_MAX = 4_096;
/**
 * Maximum size of all lines from `log(...)` in the result of a test run, in UTF-16 units of JSON.
 */
export const GUEST_LOGS_CHARS_MAX = 131_072;
/** Maximum number of lines from `log(...)` of live code that a node keeps for one workspace. */
export const CODE_LOG_LINES_MAX = 1_000;
/**
 * Maximum number of lines from `log(...)` of one live transformation that a node keeps per second.
 * Further lines of that second are dropped.
 */
export const CODE_LOG_LINES_PER_SECOND_MAX = 10;
/** Maximum size of the lines from `log(...)` of live code that a node keeps for one workspace. */
export const CODE_LOG_BYTES_MAX = 1 << 20;
/**
 * Maximum size of the lines from `log(...)` of live code that a node keeps for all workspaces.
 * Above it, the workspace that logged longest ago loses its lines.
 */
export const CODE_LOGS_BYTES_MAX = 32 << 20;
/**
 * Maximum number of requests that user code may make with `fetch` in one attempt to run a batch of
 * events.
 */
export const FETCHES_MAX = 1_000;
/**
 * Maximum number of concurrent requests that user code makes with `fetch` for one batch of events.
 * Further requests wait.
 */
export const FETCHES_AT_ONCE_MAX = 50;
/**
 * Maximum time of one `fetch` of user code, from the DNS lookup to the last byte of the response.
 * If user code sets a longer timeout, this maximum applies.
 */
export const FETCH_MS_MAX = 10_000;
/**
 * Maximum time for the `fetch` requests of user code in one attempt to run a batch of events,
 * counted from the first request. After this time, open requests are aborted, and further requests
 * fail.
 */
export const FETCH_WAIT_MS_MAX = 60_000;
/**
 * Maximum size of the URL, headers and body of one `fetch` request of user code, in UTF-16 units.
 */
export const FETCH_REQUEST_CHARS_MAX = 1 << 20;
/** Maximum size of the body of one response to a `fetch` of user code. */
export const FETCH_ANSWER_BYTES_MAX = 1 << 20;
/**
 * Number of consecutive batches of a program (user code) without a successful event after which the
 * program is suspended: it does not run for a while, and its events fail.
 */
export const SUSPENSION_BATCHES = 20;
/**
 * Number of culprits (events that used up the CPU time or ended the guest process), with no
 * successful event between them, after which a program (user code) is suspended. After the first,
 * each event gets only a quarter of the CPU time until one succeeds.
 */
export const SUSPENSION_CULPRITS = 3;
/**
 * Time for which a program (user code) is not suspended after one of its events has succeeded, even
 * if batches fail.
 */
export const SUSPENSION_GOOD_MS = 60_000;
/**
 * Duration of the first suspension of a program (user code). Each further suspension takes twice as
 * long as the one before.
 */
export const SUSPENDED_MS_MIN = 1_000;
/** Maximum duration of one suspension of a program (user code). */
export const SUSPENDED_MS_MAX = 300_000;
/**
 * Time without a successful event after which a running program (user code) counts as slow. The
 * destinations of the program then have the state `waiting`.
 */
export const CODE_SLOW_MS = 10_000;
/**
 * Time for which a program (user code) runs in its workspace's second guest process after a costly
 * batch, so that it does not delay other programs.
 */
export const COSTLY_PROGRAM_MS = 600_000;
/**
 * Smallest CPU time at which a batch counts as costly. A batch is also costly if one of its events
 * used up the CPU time that an event may use, or ended the guest process.
 */
export const COSTLY_BATCH_CPU_MS = 1_000;
/**
 * Maximum number of running guest processes for live events, if there is enough memory. When the
 * maximum is reached, workspaces take turns.
 */
export const GUESTS_MAX = 512;
/**
 * Share of the memory of the machine or container that all guest processes (which run user code)
 * together may use. Above this share, guests are ended, idle ones first.
 */
export const GUESTS_MEMORY_SHARE_MAX = 0.5;
/** Time after which a guest process without work is ended. */
export const GUEST_IDLE_MS_MAX = 60_000;

// Delivery
/**
 * Maximum number of messageIds of one source that are kept to recognize repeated events. If a
 * source sends more within its `dedupSeconds`, the oldest messageIds are forgotten, and an event
 * that repeats a forgotten messageId is delivered.
 */
export const DEDUP_IDS_OF_SOURCE_MAX = 500_000;
/**
 * Maximum number of messageIds of all sources that one node keeps to recognize repeated events.
 * Each messageId takes 42 bytes.
 */
export const DEDUP_IDS_MAX = 1_000_000;
/**
 * Maximum number of events of a partition that are marked as repetitions. Beyond it, the oldest
 * marks are removed. A repetition without its mark is delivered to each destination that has not
 * read it yet.
 */
export const DEDUP_MARKS_MAX = 100_000;
/**
 * Maximum number of bytes at the end of each event log that are read after a start, to find the
 * messageIds within the window of `dedupSeconds`. An event that repeats one from before these bytes
 * is delivered.
 */
export const DEDUP_READ_BYTES_MAX = 512 << 20;
/**
 * Maximum number of events in one batch for user code. For code that is slow or makes large
 * outputs, the maximum is lower, down to 100. For code that contains the name `fetch` or
 * `geolocation`, it is 100.
 */
export const TRANSFORM_BATCH_EVENTS_MAX = 250;
/**
 * Maximum number of concurrent deliveries to one destination. Two concurrent deliveries never
 * contain events of the same user.
 */
export const LANE_DELIVERIES_MAX = 8;
/**
 * Maximum number of events of one destination in memory: events that were read from the log, and
 * are not delivered, dropped or given up yet.
 */
export const LANE_IN_FLIGHT_EVENTS_MAX = 4_096;
/**
 * Maximum size of the events of one destination in memory: events that were read from the log or
 * returned by user code, and are not delivered, dropped or given up yet.
 */
export const LANE_IN_FLIGHT_BYTES_MAX = 16 << 20;
/** Maximum size of the events in memory for all destinations of one workspace together. */
export const WORKSPACE_HELD_BYTES_MAX = 64 << 20;
/** Maximum size of the events in memory for the destinations of all workspaces together. */
export const LANES_HELD_BYTES_MAX = 128 << 20;
/** Maximum size of one delivery. A delivery with a single event may be larger. */
export const DELIVERY_BYTES_MAX = 4 << 20;
/**
 * Upper bound of the random wait after the first failed attempt to send a delivery. Each further
 * failed attempt doubles the bound, up to `RETRY_DELAY_MS_MAX`.
 */
export const RETRY_DELAY_MS_MIN = 500;
/**
 * Maximum wait between two attempts to send a delivery, unless the receiver asks for a longer wait
 * with `Retry-After`.
 */
export const RETRY_DELAY_MS_MAX = 60_000;
/**
 * Longest `Retry-After` of a receiver that the server follows, so that a receiver cannot delay
 * events for days.
 */
export const RETRY_AFTER_MS_MAX = 3_600_000;
/**
 * Minimum number of failed attempts to send an event alone in a request, before the event can be
 * given up as the cause of its failures. An attempt counts only if, since the previous one, the
 * destination accepted another event or got no other.
 */
export const POISON_ATTEMPTS_MIN = 8;
/**
 * Minimum number of failed attempts to send an event alone in a request, before the same user's
 * next event is tried too. This happens only if no other event was accepted between the last two
 * attempts, or if failed events take much memory. Otherwise, the next event waits, which keeps the
 * order.
 */
export const FOLLOWER_ATTEMPTS_MIN = 16;
/**
 * Share of a destination's limits on events in memory. While failed events take more and other
 * events wait to be sent, failed events are retried without delay, so that they leave the memory
 * sooner. Events that wait behind a failed event of the same user count as failed.
 */
export const RETRIES_SHARE_MAX = 0.25;

/**
 * Maximum number of destinations that have their own time series in `/metrics` if `metrics.tenants`
 * is set.
 */
export const METRICS_DESTINATIONS_MAX = 2_000;
/**
 * Maximum number of destinations whose events one node counts at the same time, to compute rates
 * and figures. A destination without events in the last 5 minutes makes room for others.
 */
export const LANE_HISTORIES_MAX = 10_000;
/**
 * Maximum number of connections (of a source to a destination) whose events one node counts at the
 * same time, to compute rates and figures. A connection without events in the last 5 minutes makes
 * room for others.
 */
export const LANE_HISTORY_CONNECTIONS_MAX = 20_000;
/**
 * Maximum number of sources whose events one node counts at the same time to compute figures. A
 * second maximum of the same size applies to transformations. Events of sources and transformations
 * beyond the maximum are not counted.
 */
export const FIGURE_COUNTERS_MAX = 10_000;
/** Time for which figures by minute are stored. */
export const FIGURE_MINUTES_HOURS_MAX = 24;
/** Time for which figures by hour are stored. */
export const FIGURE_DAYS_MAX = 30;
/**
 * Maximum number of events in one delivery to a destination that gathers events, such as one that
 * writes files.
 */
export const GATHERED_EVENTS_MAX = 16_384;
/**
 * Maximum size of the gathered events of one delivery, as JSON. A delivery with a single event may
 * be larger.
 */
export const GATHERED_BYTES_MAX = 32 << 20;
/** Maximum time for which a destination gathers events for one delivery. */
export const GATHERED_MS_MAX = 900_000;

// Replays
/**
 * Rate of a replay (which sends stored events again), in events per second, if the request for the
 * replay does not set one.
 */
export const REPLAY_RATE_DEFAULT = 1_000;
/** Highest rate, in events per second, that a request for a replay can set. */
export const REPLAY_RATE_MAX = 100_000;
/**
 * Maximum number of concurrent replays of one workspace. A request for one more is answered with
 * 429.
 */
export const REPLAYS_OF_WORKSPACE_MAX = 4;
/**
 * Maximum number of concurrent replays of all workspaces. A request for one more is answered with
 * 429.
 */
export const REPLAYS_MAX = 32;
/**
 * Maximum number of finished replays of one workspace that are kept and listed. Beyond it, the
 * oldest are removed.
 */
export const REPLAYS_KEPT_OF_WORKSPACE_MAX = 100;
/**
 * Maximum duration of a replay. A replay that takes longer fails, because a running replay keeps
 * old events from being deleted.
 */
export const REPLAY_MS_MAX = 259_200_000;
/** Maximum length of each string in the filter of a replay. */
export const REPLAY_FILTER_CHARS_MAX = 1_024;

// Destinations
/**
 * Maximum time of a connection test (which sends a test event to a destination), with all its
 * steps.
 */
export const CONNECTION_TEST_MS_MAX = 20_000;
/**
 * Maximum number of concurrent connection tests of one workspace. A further test is answered with
 * 429.
 */
export const CONNECTION_TESTS_OF_WORKSPACE_MAX = 4;
/**
 * Maximum number of concurrent connection tests of all workspaces. A further test is answered with
 * 429.
 */
export const CONNECTION_TESTS_MAX = 32;

// Backups
/** Longest interval that can be set between two backups that a server makes by itself. */
export const BACKUP_SECONDS_MAX = 2_592_000;
/**
 * Highest number of backups that a server can be set to keep, among those that it makes by itself.
 */
export const BACKUPS_KEPT_MAX = 1_000;
/**
 * Size of the parts in which a backup is written to a bucket or read from it, one part in memory at
 * a time. Written parts are larger if a backup would have more than `BACKUP_PARTS_MAX` of them.
 */
export const BACKUP_PART_BYTES = 16_777_216;
/** Maximum number of parts of a backup in a bucket. Object stores do not allow more. */
export const BACKUP_PARTS_MAX = 10_000;
/**
 * Number of attempts to send one request to the backup store, if the attempts fail for a temporary
 * reason.
 */
export const BACKUP_REQUEST_TRIES_MAX = 5;
/** Time limit of one request to the backup store, from the DNS query to the last byte. */
export const BACKUP_REQUEST_MS_MAX = 300_000;
/**
 * Maximum number of list pages, with 1,000 keys each, that are read to find the backups in a
 * bucket.
 */
export const BACKUP_LIST_PAGES_MAX = 100;

// Start and stop
/**
 * Maximum size of a file with a secret, from a `_FILE` environment variable or systemd's
 * credentials.
 */
export const SECRET_FILE_BYTES_MAX = 16_384;
/**
 * Maximum time for which a starting server waits until another process unlocks the data directory.
 * A process that writes an event log waits equally long for the lock of the log's directory.
 */
export const LOG_LOCK_MS_MAX = 10_000;
/**
 * Maximum time that a shutdown waits for requests in flight before it aborts them. After that, it
 * waits up to the same time for deliveries in flight.
 */
export const DRAIN_MS_MAX = 4_000;
/**
 * Maximum number of connections of the data plane that wait in the kernel until they are accepted.
 * The kernel's limit `net.core.somaxconn` may be lower.
 */
export const WAITING_CONNECTIONS_MAX = 4_096;
/**
 * Time in which a server that has handed over its sockets still answers requests on idle
 * connections. Each connection is closed after its response, or at the end of this time if no
 * request comes.
 */
export const KEPT_CONNECTIONS_MS = 1_000;
/**
 * Maximum time that a stopping server allows a client to finish a partly sent request, or to send
 * the first request on a new connection.
 */
export const REQUEST_EXPECTED_MS = 300;
/** Maximum time from SIGTERM to the end of the process, whatever is still in flight. */
export const SHUTDOWN_MS_MAX = 10_000;

// Several nodes
/** Maximum number of partitions into which a cluster divides its events. */
export const CLUSTER_PARTITIONS_MAX = 256;
/**
 * Maximum time that a node waits for deliveries in flight when their partition moves to another
 * node of the cluster.
 */
export const HAND_OVER_MS_MAX = 700;
/**
 * Difference between the clocks of a node and of the brokers above which `/ready` and `GET
 * /v2/cluster` warn.
 */
export const CLOCK_ERROR_MS_MAX = 30_000;
