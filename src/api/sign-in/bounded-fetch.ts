import type { CustomFetch } from "openid-client";
import { PROVIDER_ANSWER_BYTES_MAX, PROVIDER_ANSWER_MS_MAX } from "../limits.ts";

/**
 * Returns a `fetch` for requests to the OpenID provider. It limits the time and the size of the
 * answer and follows no redirect. `ca` has the certificates (PEM) of the authorities that may sign
 * the provider's certificate. Without `ca`, the system's authorities apply.
 */
export function boundedFetch(ca: string | undefined): CustomFetch {
  return async (url, { body, method, headers, signal }) => {
    const timeout = AbortSignal.timeout(PROVIDER_ANSWER_MS_MAX);
    const answer = await fetch(url, {
      method,
      headers,
      body,
      redirect: "manual",
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      ...(ca !== undefined && { tls: { ca } }),
    } as BunFetchRequestInit);
    const bytes = await readBounded(answer);
    const { status, headers: answered } = answer;
    return new Response(bytes, { status, headers: answered });
  };
}

async function readBounded(answer: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of answer.body ?? []) {
    bytes += part.byteLength;
    if (bytes > PROVIDER_ANSWER_BYTES_MAX) {
      throw new Error(`The provider's answer is longer than ${PROVIDER_ANSWER_BYTES_MAX} bytes`);
    }
    parts.push(part);
  }
  return new Uint8Array(Buffer.concat(parts));
}
