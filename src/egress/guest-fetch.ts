import {
  type Egress,
  EgressRefused,
  type EgressRequest,
  ResolutionFailed,
  reservedHeaders,
} from "./egress.ts";

/** A request of user code as its guest sent it, with a body of text. */
export interface GuestEgressRequest
  extends Omit<EgressRequest, "body" | "isRepeatable" | "signal"> {
  body: string;
}

/** Idempotent methods (RFC 9110 §9.2.2). */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

/**
 * Makes the `fetch` of user code, over an egress with an allow-list of its own. A redirect is a
 * response like any other; when the code follows it, that request is checked like the first.
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
        // One byte more than allowed shows that a body is too long.
        answerBytesMax: answerBytesMax + 1,
        isRepeatable: idempotent.has(method.toUpperCase()),
      })
      .catch((error: unknown) => {
        // Network errors may hold internal addresses and are not passed on. Errors of the policy and
        // of DNS hold none.
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

/** Removes reserved headers silently, as browsers do. */
function withoutReservedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !reservedHeaders.has(name.toLowerCase())),
  );
}
