import { type Egress, EgressRefused, egressHeaders } from "./destinations/egress.ts";
import type { GuestFetch } from "./sandbox/outside.ts";

/**
 * What user code's `fetch` gets: the guarded egress with an allow-list of its own. Redirects are
 * answers like any other; following one is the code's own request, checked like the first.
 */
export function guestFetch(egress: Egress): GuestFetch {
  return async (request, signal) => {
    const { url, method, timeoutMs, answerBytesMax } = request;
    const answer = await egress
      .request({
        ...{ url, method, timeoutMs, signal },
        headers: withoutEgressHeaders(request.headers),
        body: Buffer.from(request.body),
        // One byte more tells a body that is too long from one that just fits.
        answerBytesMax: answerBytesMax + 1,
      })
      .catch((error: unknown) => {
        // What the network says may hold addresses of the inside; what the policy says may not.
        throw error instanceof EgressRefused ? error : new Error("The request failed");
      });
    if (answer.body.byteLength > answerBytesMax) {
      throw new Error(`Expected an answer of at most ${answerBytesMax} bytes`);
    }
    return {
      url,
      status: answer.status,
      headers: Object.fromEntries(
        Object.entries(answer.headers).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, String(value)]],
        ),
      ),
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
