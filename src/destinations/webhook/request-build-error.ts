/**
 * Thrown when no request can be built from an event. The event becomes a dead letter with the
 * message as its reason.
 */
export class RequestBuildError extends Error {
  override readonly name = "RequestBuildError";
}
