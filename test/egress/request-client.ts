import type { ResolveHost } from "../../src/egress/dns/dns-resolver.ts";
import { createEgress, type EgressOptions } from "../../src/egress/egress.ts";

export const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/** A request without a body. */
export const requestTo = (url: string, headers: Record<string, string> = {}) => ({
  workspaceId: "w",
  url,
  method: "POST",
  headers,
  body: new Uint8Array(),
  timeoutMs: 60_000,
  answerBytesMax: 1_000,
  isRepeatable: true,
  signal: new AbortController().signal,
});

/** Sends one request by an egress of its own. */
export function ask(url: string, options: Partial<EgressOptions> = {}, headers = {}) {
  const egress = createEgress({ allow: [], ...options });
  return egress.request(requestTo(url, headers)).finally(() => egress.close());
}

/** Finds these addresses for every name. */
export const finding =
  (...addresses: string[]): ResolveHost =>
  async () => ({ addresses, seconds: 5 });

/** The error of a request that must fail. */
export async function failureOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("Expected a failure");
}
