import { unlessAborted } from "../../../concurrency/unless-aborted.ts";
import {
  type Egress,
  EgressRefused,
  type EgressRequest,
  type EgressResponse,
  networkReason,
} from "../../../egress/egress.ts";
import { isObject } from "../../../is-object.ts";
import { parsedJson } from "../../../json/parsed-json.ts";
import { retryAfterMs } from "../../retry-after.ts";
import type { OauthConfig } from "../config.ts";
import {
  OAUTH_ANSWER_BYTES_MAX,
  OAUTH_TOKEN_CHARS_MAX,
  OAUTH_TOKEN_MS_DEFAULT,
  OAUTH_TOKEN_MS_MAX,
} from "../limits.ts";
import { retryableStatuses } from "../response-status.ts";
import type { AccessToken, KeptTokens } from "./kept-tokens.ts";

/** Thrown when no access token could be obtained. Users see the message, which has no secret. */
export class AccessTokenError extends Error {
  override readonly name = "AccessTokenError";

  /**
   * Creates the error. With `isFinal`, every request for a token will fail until the config is
   * changed. `afterMs` is the delay in milliseconds that the token server asks for, and `status`
   * the HTTP status of its response.
   */
  constructor(
    readonly isFinal: boolean,
    message: string,
    readonly afterMs?: number,
    readonly status?: number,
  ) {
    super(`No access token: ${message}`);
  }
}

/**
 * Milliseconds before a token's expiry at which the token is replaced. A token with a lifetime
 * below ten times this number is replaced when a tenth of its lifetime is left.
 */
const MARGIN_MS_MAX = 30_000;
/**
 * Minimum milliseconds between the last replacement of a token and the replacement of a refused
 * token that the receiver never accepted.
 */
const REFUSED_MS_MIN = 30_000;
/**
 * Minimum milliseconds from the last replacement of a token to the replacement of a refused token
 * that the receiver had accepted before. Short, because a receiver that revoked a token probably
 * accepts a new one.
 */
const REVOKED_MS_MIN = 1_000;
/** Maximum tokens remembered as accepted by the receiver, per open destination: the latest ones. */
const ACCEPTED_TOKENS_MAX = 8;
/**
 * Milliseconds for which no token is requested after a failure that is not expected to end by
 * itself (`isFinal`). Calls of `acquire` in this time reject with the same error.
 */
const FINAL_MS = 10_000;
/**
 * Milliseconds until the next token request after a temporary failure, unless the token server asks
 * for another delay.
 */
const TEMPORARY_MS = 1_000;

interface AccessTokensOptions {
  config: OauthConfig;
  kept: KeptTokens;
  /** Key of the destination's access token in the cache `kept`. */
  key: string;
  workspaceId: string;
  timeoutMs: number;
  egress: Egress;
}

/**
 * Obtains the access tokens of one open destination with OAuth 2 client credentials (RFC 6749
 * §4.4), on demand and with one request at a time. A token is used until shortly before it expires.
 */
export class AccessTokens {
  readonly #closed = new AbortController();
  #fetching: Promise<AccessToken> | undefined;
  #failure: { error: AccessTokenError; until: number } | undefined;
  /**
   * Time of `performance.now()` until which `invalidate` discards no refused token:
   * `REFUSED_MS_MIN` after `invalidate` last discarded a token. For a refused token that the
   * receiver had accepted earlier, the time is `REVOKED_MS_MIN` after that discard.
   */
  #heldUntil = Number.NEGATIVE_INFINITY;
  /** Tokens with which the receiver has accepted events: the last `ACCEPTED_TOKENS_MAX` at most. */
  readonly #accepted = new Set<string>();

  constructor(private readonly parts: AccessTokensOptions) {
    const kept = this.#token();
    if (kept?.isAccepted) this.#accepted.add(kept.text);
  }

  /**
   * Resolves with a token that has not expired. Rejects with `AccessTokenError` or, if `signal` is
   * aborted, with its reason.
   */
  async acquire(signal: AbortSignal): Promise<string> {
    const token = this.#token();
    if (token !== undefined) return token.text;
    const isHeld = this.#failure !== undefined && performance.now() < this.#failure.until;
    if (isHeld) throw this.#failure!.error;
    this.#fetching ??= this.#fetchOnce();
    return (await unlessAborted(this.#fetching, signal)).text;
  }

  /**
   * Discards a refused token, so that `acquire` requests a new one. Returns false and keeps the
   * token within `REFUSED_MS_MIN` of the last replacement (`REVOKED_MS_MIN` if the receiver had
   * accepted the token before).
   */
  invalidate(text: string): boolean {
    if (this.#token()?.text !== text) return true;
    const now = performance.now();
    const isRevoked = this.#accepted.has(text);
    if (now < this.#heldUntil - (isRevoked ? REFUSED_MS_MIN - REVOKED_MS_MIN : 0)) return false;
    this.#heldUntil = now + REFUSED_MS_MIN;
    this.parts.kept.delete(this.parts.key);
    return true;
  }

  /** Records that the receiver accepted events with the token. */
  accept(text: string): void {
    const kept = this.#token();
    if (kept?.text === text) kept.isAccepted = true;
    if (this.#accepted.has(text)) return;
    this.#accepted.add(text);
    if (this.#accepted.size <= ACCEPTED_TOKENS_MAX) return;
    const [oldest] = this.#accepted;
    this.#accepted.delete(oldest!);
  }

  /** Whether the receiver has accepted events with the token. */
  wasAccepted(text: string): boolean {
    return this.#accepted.has(text);
  }

  close(): void {
    this.#closed.abort(new Error("The destination was closed"));
  }

  #token(): AccessToken | undefined {
    return this.parts.kept.get(this.parts.key);
  }

  #fetchOnce(): Promise<AccessToken> {
    const fetching = this.#fetch().finally(() => {
      this.#fetching = undefined;
    });
    // No caller may be left when the request fails: all of them may have been aborted.
    fetching.catch(() => {});
    return fetching;
  }

  async #fetch(): Promise<AccessToken> {
    try {
      const answer = await this.parts.egress.request(this.#request());
      const { text, ms } = tokenOf(answer);
      const margin = Math.min(MARGIN_MS_MAX, ms / 10);
      const token = { text, freshUntil: performance.now() + ms - margin };
      this.parts.kept.set(this.parts.key, token);
      return token;
    } catch (cause) {
      const isKnown = cause instanceof AccessTokenError;
      const error = isKnown
        ? cause
        : new AccessTokenError(cause instanceof EgressRefused, networkReason(cause));
      const ms = error.afterMs ?? (error.isFinal ? FINAL_MS : TEMPORARY_MS);
      this.#failure = { error, until: performance.now() + ms };
      throw error;
    }
  }

  #request(): EgressRequest {
    const { config, workspaceId, timeoutMs } = this.parts;
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
      workspaceId,
      timeoutMs,
      url: config.tokenUrl,
      method: "POST",
      headers: {
        accept: "application/json",
        "user-agent": "pixelmill",
        "content-type": "application/x-www-form-urlencoded",
        ...(!isPost && { authorization: `Basic ${Buffer.from(pair).toString("base64")}` }),
      },
      body: Buffer.from(form.toString()),
      // One byte more than allowed is read, to detect a response that is too long.
      answerBytesMax: OAUTH_ANSWER_BYTES_MAX + 1,
      isRepeatable: true,
      signal: this.#closed.signal,
    };
  }
}

/**
 * Encodes a client id or client secret as `application/x-www-form-urlencoded`, which HTTP Basic
 * authentication requires for both (RFC 6749 §2.3.1).
 */
function formText(text: string): string {
  return new URLSearchParams({ "": text }).toString().slice(1);
}

/**
 * OAuth error codes (RFC 6749 §5.2) of the token server that are shown to users. Its other error
 * strings are not shown, because they may contain the client secret.
 */
const codes = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
]);

function tokenOf({ status, headers, body }: EgressResponse): { text: string; ms: number } {
  const isLong = body.length > OAUTH_ANSWER_BYTES_MAX;
  const parsed = isLong ? undefined : parsedJson(Buffer.from(body).toString());
  const answer = isObject(parsed) ? parsed : undefined;
  if (status < 200 || status >= 300) {
    const code = codes.has(String(answer?.error)) ? ` (${answer?.error})` : "";
    const isFinal = status < 500 && !retryableStatuses.has(status);
    const afterMs = isFinal ? undefined : retryAfterMs(headers["retry-after"], Date.now());
    throw new AccessTokenError(isFinal, `tokenUrl answered ${status}${code}`, afterMs, status);
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
