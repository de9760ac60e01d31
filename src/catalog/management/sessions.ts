import { assert } from "../../assert.ts";
import { ApiError } from "../../errors.ts";
import { SESSION_SECONDS_MAX, SESSIONS_OF_TOKEN_MAX } from "../../settings/limits.ts";
import type { Principal } from "../model.ts";
import { hashOf, isSecret, isSessionSecret, newSessionSecret } from "../secrets.ts";
import type { CatalogStore } from "../store.ts";
import type { StoredSession, StoredToken, Tables } from "../tables/tables.ts";
import type { Sessions } from "./resources.ts";

export function openSessions(
  store: CatalogStore,
  { tokens }: Pick<Tables, "tokens">,
  principalOf: (token: StoredToken) => Principal | undefined,
): Sessions {
  const { sessions } = tokens;

  const bySecret = (secret: string): StoredSession | undefined =>
    isSessionSecret(secret) ? sessions.byHash(hashOf(secret)) : undefined;

  return {
    async begin(tokenSecret) {
      const token = isSecret(tokenSecret) ? tokens.byHash(hashOf(tokenSecret)) : undefined;
      const principal = token && principalOf(token);
      if (token === undefined || principal === undefined) return undefined;
      const secret = newSessionSecret();
      const createdAt = Date.now();
      const expiresAt = Math.min(
        createdAt + SESSION_SECONDS_MAX * 1_000,
        token.expiresAt ?? Infinity,
      );
      await store.change(() => {
        // The token may have been revoked before this transaction began.
        if (!tokens.find(token.id)) throw new ApiError("unauthenticated", "The token is revoked");
        const others = sessions.ofToken(token.id);
        for (const [older, session] of others.entries()) {
          const isOver = session.expiresAt <= createdAt;
          const left = others.length - older;
          if (isOver || left >= SESSIONS_OF_TOKEN_MAX) sessions.remove(session);
        }
        sessions.put({ hash: hashOf(secret), tokenId: token.id, createdAt, expiresAt });
        const count = sessions.ofToken(token.id).length;
        assert(
          count <= SESSIONS_OF_TOKEN_MAX,
          "A token has at most SESSIONS_OF_TOKEN_MAX sessions",
        );
      });
      return { principal: { ...principal, expiresAt }, secret };
    },
    authenticate(secret) {
      const session = bySecret(secret);
      if (session === undefined || session.expiresAt <= Date.now()) return undefined;
      const token = tokens.find(session.tokenId);
      const principal = token && principalOf(token);
      return principal && { ...principal, expiresAt: session.expiresAt };
    },
    async end(secret) {
      const session = bySecret(secret);
      if (session !== undefined) await store.change(() => sessions.remove(session));
    },
  };
}
