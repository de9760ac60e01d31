import {
  type Egress,
  EgressRefused,
  type EgressRequest,
  type EgressResponse,
} from "../../egress/egress.ts";
import { networkReason } from "../http-steps.ts";
import { retryAfterMs } from "../retry-after.ts";
import type { OauthConfig } from "./config.ts";
import {
  OAUTH_ANSWER_BYTES_MAX,
  OAUTH_TOKEN_CHARS_MAX,
  OAUTH_TOKEN_MS_DEFAULT,
  OAUTH_TOKEN_MS_MAX,
} from "./limits.ts";
import { retryableStatuses } from "./response-status.ts";

/** There is no access token; the message is in words for people and holds no secret. */
export class AccessTokenError extends Error {
  override readonly name = "AccessTokenError";

  /** `isFinal`: only another config helps. `afterMs` is the wish of the token's server. */
  constructor(
    readonly isFinal: boolean,
    message: string,
    readonly afterMs?: number,
  ) {
    super(`No access token: ${message}`);
  }
}

interface AccessToken {
  text: string;
  /** By `performance.now`. */
  freshUntil: number;
}

/** How long before its end a token is no longer used, but no more than a tenth of its time. */
const MARGIN_MS_MAX = 30_000;
/** A token is asked for at most this often because a receiver has refused the one before. */
const REFUSED_MS_MIN = 30_000;
/** How long a final failure holds before a token is asked for again. */
const FINAL_MS = 10_000;
/** How long a passing failure holds unless the server says: those who wait meanwhile share it. */
const PASSING_MS = 1_000;

interface AccessTokensOptions {
  config: OauthConfig;
  workspaceId: string;
  timeoutMs: number;
  egress: Egress;
}

/**
 * The access tokens of one open destination, by OAuth 2 client credentials (RFC 6749 §4.4). A token
 * is asked for when it is first needed, by one request at a time, and kept until shortly before it
 * ends.
 */
export class AccessTokens {
  readonly #parts: AccessTokensOptions;
  readonly #end = new AbortController();
  #token: AccessToken | undefined;
  #fetching: Promise<AccessToken> | undefined;
  #failure: { error: AccessTokenError; until: number } | undefined;
  /** Until then refused tokens are not replaced. */
  #settledUntil = Number.NEGATIVE_INFINITY;

  constructor(parts: AccessTokensOptions) {
    this.#parts = parts;
  }

  /** The token to use now. Rejects with `AccessTokenError`, or when the signal ends the wait. */
  async acquire(signal: AbortSignal): Promise<string> {
    const now = performance.now();
    if (this.#token !== undefined && now < this.#token.freshUntil) return this.#token.text;
    if (this.#failure !== undefined && now < this.#failure.until) throw this.#failure.error;
    this.#fetching ??= this.#fetchAlone();
    return (await unlessAborted(this.#fetching, signal)).text;
  }

  /**
   * The receiver has refused this token. Returns whether `take` may give a better one: it does once
   * in a while, so that a receiver that refuses every token does not have all of them asked for.
   */
  invalidate(text: string): boolean {
    if (this.#token?.text !== text) return true;
    const now = performance.now();
    if (now < this.#settledUntil) return false;
    this.#settledUntil = now + REFUSED_MS_MIN;
    this.#token = undefined;
    return true;
  }

  close(): void {
    this.#end.abort(new Error("The destination was closed"));
  }

  #fetchAlone(): Promise<AccessToken> {
    const fetching = this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    // All who wait may have gone when it fails.
    fetching.catch(() => {});
    return fetching;
  }

  async #fetch(): Promise<AccessToken> {
    try {
      const answer = await this.#parts.egress.request(this.#request());
      const { text, ms } = tokenOf(answer);
      const margin = Math.min(MARGIN_MS_MAX, ms / 10);
      const token = { text, freshUntil: performance.now() + ms - margin };
      this.#token = token;
      return token;
    } catch (cause) {
      const isKnown = cause instanceof AccessTokenError;
      const error = isKnown
        ? cause
        : new AccessTokenError(cause instanceof EgressRefused, networkReason(cause));
      const ms = error.afterMs ?? (error.isFinal ? FINAL_MS : PASSING_MS);
      this.#failure = { error, until: performance.now() + ms };
      throw error;
    }
  }

  #request(): EgressRequest {
    const { config, workspaceId, timeoutMs } = this.#parts;
    const { clientId, clientSecret, scope, audience, authStyle } = config;
    const isPost = authStyle === "post";
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      ...(scope !== undefined && { scope }),
      ...(audience !== undefined && { audience }),
      ...(isPost && { client_id: clientId, client_secret: clientSecret }),
    });
    const pair = `${formText(clientId)}:${formText(clientSecret)}`;
    return {
      ...{ workspaceId, timeoutMs, url: config.tokenUrl, method: "POST" },
      headers: {
        ...{ accept: "application/json", "user-agent": "pixelmill" },
        "content-type": "application/x-www-form-urlencoded",
        ...(!isPost && { authorization: `Basic ${Buffer.from(pair).toString("base64")}` }),
      },
      body: Buffer.from(form.toString()),
      // One byte more than allowed shows that an answer is too long.
      answerBytesMax: OAUTH_ANSWER_BYTES_MAX + 1,
      isRepeatable: true,
      signal: this.#end.signal,
    };
  }
}

/** As a value of a form is written: so RFC 6749 §2.3.1 has it before the base64. */
function formText(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

/** Codes of RFC 6749 §5.2; a server's own words are not repeated, for they may hold the secret. */
const codes = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
]);

function tokenOf({ status, headers, body }: EgressResponse): { text: string; ms: number } {
  const answer = body.length > OAUTH_ANSWER_BYTES_MAX ? undefined : objectOf(body);
  if (status < 200 || status >= 300) {
    const code = codes.has(String(answer?.error)) ? ` (${answer?.error})` : "";
    const isFinal = status < 500 && !retryableStatuses.has(status);
    const afterMs = isFinal ? undefined : retryAfterMs(headers["retry-after"], Date.now());
    throw new AccessTokenError(isFinal, `tokenUrl answered ${status}${code}`, afterMs);
  }
  if (answer === undefined) {
    const bytes = OAUTH_ANSWER_BYTES_MAX;
    throw new AccessTokenError(
      false,
      `expected a JSON object of at most ${bytes} bytes from tokenUrl`,
    );
  }
  const { access_token: text, token_type: type = "bearer", expires_in: seconds } = answer;
  if (typeof type !== "string" || type.toLowerCase() !== "bearer") {
    throw new AccessTokenError(true, "expected tokenUrl to answer with token_type Bearer");
  }
  const isSendable =
    typeof text === "string" && text.length <= OAUTH_TOKEN_CHARS_MAX && /^[\x21-\x7e]+$/.test(text);
  if (!isSendable) {
    const chars = `1 to ${OAUTH_TOKEN_CHARS_MAX} visible ASCII characters`;
    throw new AccessTokenError(false, `expected access_token of ${chars} from tokenUrl`);
  }
  return { text, ms: msOf(seconds) };
}

function msOf(seconds: unknown): number {
  const isGiven = typeof seconds === "number" || (typeof seconds === "string" && seconds !== "");
  const ms = Number(seconds) * 1_000;
  return isGiven && ms >= 0 ? Math.min(ms, OAUTH_TOKEN_MS_MAX) : OAUTH_TOKEN_MS_DEFAULT;
}

function objectOf(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** What the promise resolves to, unless the signal ends the wait: the promise itself goes on. */
async function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  signal.addEventListener("abort", onAbort);
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
