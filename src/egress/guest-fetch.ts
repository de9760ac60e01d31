import {
  type Egress,
  EgressRefused,
  type EgressRequest,
  ResolutionFailed,
  reservedHeaders,
} from "./egress.ts";

/** A request of user code, as its guest sent it; the body is text. */
export interface GuestRequest extends Omit<EgressRequest, "body" | "isRepeatable" | "signal"> {
  body: string;
}

/** Methods for which two requests have the effect of one (RFC 9110 §9.2.2). */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

/**
 * The `fetch` of user code: the guarded egress, with an allow-list of its own. A redirect is an
 * answer like any other; when the code follows it, its request is checked like the first.
 */
export function guestFetch(egress: Egress) {
  return async (request: GuestRequest, signal: AbortSignal) => {
    const { workspaceId, url, method, timeoutMs, answerBytesMax } = request;
    const answer = await egress
      .request({
        ...{ workspaceId, url, method, timeoutMs, signal },
        headers: withoutEgressHeaders(request.headers),
        body: Buffer.from(request.body),
        // One byte more than allowed shows that a body is too long.
        answerBytesMax: answerBytesMax + 1,
        isRepeatable: idempotent.has(method.toUpperCase()),
      })
      .catch((error: unknown) => {
        // Errors of the network may hold internal addresses and are not passed on; errors of policy
        // and name servers hold none.
        const isTold = error instanceof EgressRefused || error instanceof ResolutionFailed;
        throw isTold ? error : new Error("The request failed");
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
 * The headers without those that describe the connection, which are left out silently, as browsers
 * do.
 */
function withoutEgressHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !reservedHeaders.has(name.toLowerCase())),
  );
}
