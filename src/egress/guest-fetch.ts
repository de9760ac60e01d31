import {
  type Egress,
  EgressRefused,
  type EgressRequest,
  egressHeaders,
  LookUpFailed,
} from "./egress.ts";

/** A request of user code: what its guest sent, text for a body. */
export interface GuestRequest extends Omit<EgressRequest, "body" | "isRepeatable" | "signal"> {
  body: string;
}

/** Asking twice is asking once (RFC 9110 §9.2.2). */
const idempotent = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

/**
 * What user code's `fetch` gets: the guarded egress with an allow-list of its own. Redirects are
 * answers like any other; following one is the code's own request, checked like the first.
 */
export function guestFetch(egress: Egress) {
  return async (request: GuestRequest, signal: AbortSignal) => {
    const { workspaceId, url, method, timeoutMs, answerBytesMax } = request;
    const answer = await egress
      .request({
        ...{ workspaceId, url, method, timeoutMs, signal },
        headers: withoutEgressHeaders(request.headers),
        body: Buffer.from(request.body),
        // One byte more tells a body that is too long from one that just fits.
        answerBytesMax: answerBytesMax + 1,
        isRepeatable: idempotent.has(method.toUpperCase()),
      })
      .catch((error: unknown) => {
        // What the network says may hold addresses of the inside; policy and name servers' do not.
        const isTold = error instanceof EgressRefused || error instanceof LookUpFailed;
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

/** Left out without a word, as browsers do with them. */
function withoutEgressHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !egressHeaders.has(name.toLowerCase())),
  );
}
