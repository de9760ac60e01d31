/** No request can be built from an event; the message is the reason of its dead letter. */
export class RequestBuildError extends Error {
  override readonly name = "RequestBuildError";
}
