// User code for rudder-server
/**
 * Maximum size in bytes of the body of a request to `/customTransform`. A larger request is
 * answered with 413, and all its events fail. rudder-server's setting
 * `Processor.UserTransformer.batchSize` limits the number of events in a request.
 */
export const TRANSFORMER_BODY_BYTES_MAX = 32 << 20;
/**
 * Maximum number of events of one request to `/customTransform`. A request with more events is
 * answered with 413.
 */
export const TRANSFORMER_EVENTS_MAX = 10_000;
/**
 * Maximum total size in bytes of the request bodies being transformed for all workspaces; each
 * counts at least 64 KiB. A request that would exceed the maximum is answered with 503, and
 * rudder-server sends the request again.
 */
export const TRANSFORMER_BYTES_MAX = 256 << 20;
/**
 * Maximum total size in bytes of the request bodies being transformed for one workspace; each
 * counts at least 64 KiB. A request that would exceed the maximum is answered with 503, and
 * rudder-server sends the request again.
 */
export const TRANSFORMER_BYTES_OF_WORKSPACE_MAX = 128 << 20;
/**
 * Time in milliseconds after which a request to `/customTransform` is answered with 503, so that
 * rudder-server sends it again. Its remaining events do not run. rudder-server itself gives up a
 * request after 600 s.
 */
export const TRANSFORMER_REQUEST_MS_MAX = 300_000;
/**
 * Time in milliseconds after which a costly request to `/customTransform` runs no further event.
 * Its remaining events fail with 400, because rudder-server would repeat the request forever after
 * a 503. A request is costly when `GUEST_CULPRITS_MAX` of its events have used up their time or
 * ended their guest process.
 */
export const TRANSFORMER_COSTLY_MS_MAX = 60_000;
/**
 * Maximum number of open connections to the transformer listener. When the maximum is reached, the
 * server closes an idle connection for each new one.
 */
export const TRANSFORMER_CONNECTIONS_MAX = 1_024;
