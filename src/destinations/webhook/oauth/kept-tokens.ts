import { OAUTH_TOKENS_KEPT_MAX } from "../limits.ts";

export interface AccessToken {
  text: string;
  /** Time of `performance.now()` until which the token is used. */
  freshUntil: number;
  /** Whether the receiver has accepted events with the token. */
  isAccepted?: boolean;
}

/**
 * Cache of access tokens, by a hash of a destination's workspace and whole config. A token stays
 * here while the destination is closed. Above `OAUTH_TOKENS_KEPT_MAX` tokens, the oldest is
 * removed.
 */
export class KeptTokens {
  readonly #tokens = new Map<string, AccessToken>();

  get(key: string): AccessToken | undefined {
    const token = this.#tokens.get(key);
    return token !== undefined && performance.now() < token.freshUntil ? token : undefined;
  }

  set(key: string, token: AccessToken): void {
    this.#tokens.delete(key);
    this.#tokens.set(key, token);
    for (const kept of this.#tokens.keys()) {
      const isOver = this.#tokens.size > OAUTH_TOKENS_KEPT_MAX || this.get(kept) === undefined;
      if (!isOver) break;
      this.#tokens.delete(kept);
    }
  }

  delete(key: string): void {
    this.#tokens.delete(key);
  }
}
