import {
  type Egress,
  EgressRefused,
  type EgressRequest,
  ResolutionFailed,
  reservedHeaders,
} from "./egress.ts";

/** A request that user code made with `fetch`. The body is a string. */
interface GuestEgressRequest extends Omit<EgressRequest, "body" | "isRepeatable" | "signal"> {
  body: string;
}

/** HTTP methods that are idempotent (RFC 9110 §9.2.2), so that a request may be sent twice. */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

/**
 * Returns the function that executes `fetch` of user code. `egress` must have the allowed addresses
 * for user code. Redirects are returned, not followed, so that each new target is checked like any
 * other.
 */
export function guestFetch(egress: Egress) {
  return async (request: GuestEgressRequest, signal: AbortSignal) => {
    const { workspaceId, url, method, timeoutMs, answerBytesMax } = request;
    const answer = await egress
      .request({
        workspaceId,
        url,
        method,
        timeoutMs,
        signal,
        headers: withoutReservedHeaders(request.headers),
        body: Buffer.from(request.body),
        // One byte more than allowed is read, to detect a body that is too long.
        answerBytesMax: answerBytesMax + 1,
        isRepeatable: idempotent.has(method.toUpperCase()),
      })
      .catch((error: unknown) => {
        // The message of a network error may contain internal addresses, so user code does not get
        // it. The messages of `EgressRefused` and `ResolutionFailed` contain none.
        const isPublic = error instanceof EgressRefused || error instanceof ResolutionFailed;
        throw isPublic ? error : new Error("The request failed");
      });
    if (answer.body.byteLength > answerBytesMax) {
      throw new Error(`Expected an answer of at most ${answerBytesMax} bytes`);
    }
    return {
      url,
      status: answer.status,
      headers: { ...answer.headers },
      body: Buffer.from(answer.body).toString(),
    };
  };
}

/**
 * Removes the headers that callers must not set (`reservedHeaders`). Browsers, too, do this
 * without an error.
 */
function withoutReservedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !reservedHeaders.has(name.toLowerCase())),
  );
}
