// User code for rudder-server
/**
 * Maximum size of the body of a request to the transformer listener. A larger one is answered with
 * 413, which rudder-server treats as a failure of all its events: its setting
 * `Processor.UserTransformer.batchSize` bounds the events of a request.
 */
export const TRANSFORMER_BODY_BYTES_MAX = 32 << 20;
/** Maximum number of events of one request to `/customTransform`. More are answered with 413. */
export const TRANSFORMER_EVENTS_MAX = 10_000;
/**
 * Maximum size of the requests of all workspaces that are being transformed; each request counts at
 * least 64 KiB. Above it, a request is answered with 503, and rudder-server sends it again.
 */
export const TRANSFORMER_BYTES_MAX = 256 << 20;
/**
 * Maximum size of the requests of one workspace that are being transformed. Above it, a request is
 * answered with 503, and rudder-server sends it again.
 */
export const TRANSFORMER_BYTES_OF_WORKSPACE_MAX = 128 << 20;
/**
 * Time after which a request to `/customTransform` is answered with 503, so that rudder-server
 * sends it again. rudder-server itself gives up a request after 600 s. Events of an answered
 * request, and of one whose client has closed the connection, no longer run.
 */
export const TRANSFORMER_REQUEST_MS_MAX = 300_000;
/**
 * Time after which a request to `/customTransform` whose code was stopped for `GUEST_CULPRITS_MAX`
 * events runs no further event: the others fail with 400, as all events of such a request do in
 * rudder-transformer. After 503, rudder-server would repeat the same request forever.
 */
export const TRANSFORMER_COSTLY_MS_MAX = 60_000;
/**
 * Maximum number of open connections to the transformer listener. Above it, a new connection closes
 * an idle one.
 */
export const TRANSFORMER_CONNECTIONS_MAX = 1_024;
