import { assert } from "../../assert.ts";
import { ApiError } from "../../errors.ts";
import { earliestNow } from "../../observe/ages.ts";
import { SESSION_SECONDS_MAX, SESSIONS_OF_TOKEN_MAX } from "../../settings/limits.ts";
import { newId } from "../ids.ts";
import type { Principal } from "../model.ts";
import { hashOf, isSecret, isSessionSecret, newSecret, newSessionSecret } from "../secrets.ts";
import type { CatalogStore } from "../store.ts";
import type { StoredSession, StoredToken, Tables } from "../tables/tables.ts";
import type { ItemLimits } from "./item-limits.ts";

/**
 * Sessions of browsers that signed in with a token or at an OpenID provider. Each session belongs
 * to a token, has the token's current permissions, and ends with the token or at its own expiry
 * time.
 */
export function openSessions(
  store: CatalogStore,
  { tokens, members, workspaces }: Pick<Tables, "tokens" | "members" | "workspaces">,
  limits: ItemLimits,
  principalOf: (token: StoredToken) => Principal | undefined,
) {
  const { sessions } = tokens;

  const bySecret = (secret: string): StoredSession | undefined =>
    isSessionSecret(secret) ? sessions.byHash(hashOf(secret)) : undefined;

  /**
   * Stores a session of a token. Ends the token's expired sessions, and the oldest sessions when
   * the token has more than `SESSIONS_OF_TOKEN_MAX`. Must be called inside a transaction.
   */
  function put(session: StoredSession): void {
    const others = sessions.ofToken(session.tokenId);
    const live = others.filter(({ expiresAt }) => expiresAt > earliestNow());
    const kept = new Set(live.slice(1 - SESSIONS_OF_TOKEN_MAX));
    for (const other of others) if (!kept.has(other)) sessions.remove(other);
    sessions.put(session);
    const count = sessions.ofToken(session.tokenId).length;
    assert(count <= SESSIONS_OF_TOKEN_MAX, "A token has at most SESSIONS_OF_TOKEN_MAX sessions");
  }

  /**
   * Returns the personal token to which a member's OpenID sessions belong. Creates this token if
   * there is none.
   */
  function carrierOf(workspaceId: string, memberId: string): StoredToken {
    const member = members.get(workspaceId, memberId);
    const found = tokens.ofMember(member.id).find(({ carriesSessions }) => carriesSessions);
    if (found) return found;
    limits.expectRoom(workspaceId, "tokens");
    const now = Date.now();
    const token: StoredToken = {
      id: newId(now),
      workspaceId,
      name: "Single sign-on",
      permissions: [],
      memberId,
      carriesSessions: true,
      createdAt: now,
      // The secret is discarded, so that only sessions use the token.
      hash: hashOf(newSecret()),
    };
    tokens.put(token);
    return token;
  }

  /** Returns the secret of a new session of `token`, and the caller that the session identifies. */
  function begun(token: StoredToken, expiresAt: number, secret: string) {
    const principal = principalOf(token);
    if (principal === undefined) throw new ApiError("unauthenticated", "The token is revoked");
    return { principal: { ...principal, expiresAt }, secret };
  }

  return {
    /**
     * Begins a session of the token with this secret, and returns the session's own secret, which
     * cannot be read later. Returns undefined when the token is unknown, expired or revoked. Ends
     * the token's oldest session beyond `SESSIONS_OF_TOKEN_MAX`.
     */
    async begin(tokenSecret: string) {
      const token = isSecret(tokenSecret) ? tokens.byHash(hashOf(tokenSecret)) : undefined;
      if (token === undefined || principalOf(token) === undefined) return undefined;
      const secret = newSessionSecret();
      const createdAt = Date.now();
      const end = createdAt + SESSION_SECONDS_MAX * 1_000;
      const expiresAt = Math.min(end, token.expiresAt ?? Infinity);
      await store.change(() => {
        // The token may have been revoked before this transaction began.
        if (!tokens.find(token.id)) throw new ApiError("unauthenticated", "The token is revoked");
        put({ hash: hashOf(secret), tokenId: token.id, createdAt, expiresAt });
      });
      return begun(token, expiresAt, secret);
    },
    /**
     * Begins a session of a member who signed in at an OpenID provider. Rejects with `missing` when
     * the member does not exist.
     * - `expiresAt`: end of the session, in milliseconds since the epoch.
     * - `providerSession`: the provider's own id of the session (`sid`), if it sends one.
     */
    async beginForMember(
      workspaceId: string,
      memberId: string,
      { expiresAt, providerSession }: { expiresAt: number; providerSession?: string },
    ) {
      const secret = newSessionSecret();
      const createdAt = Date.now();
      const token = await store.change(() => {
        const carrier = carrierOf(workspaceId, memberId);
        const { issuer } = members.get(workspaceId, memberId).identity ?? { issuer: "" };
        put({
          hash: hashOf(secret),
          tokenId: carrier.id,
          createdAt,
          expiresAt,
          ...(providerSession !== undefined && {
            providerSession: providerSessionHash(issuer, providerSession),
          }),
        });
        return carrier;
      });
      return begun(token, expiresAt, secret);
    },
    /**
     * Ends sessions that began at the OpenID provider `issuer`, and returns their number.
     * - `subject`: selects the sessions of one account.
     * - `providerSession`: selects the sessions that began with one session at the provider.
     * - With both, a session must match both. With neither, no session ends.
     */
    endProviderSessions(ended: { issuer: string; subject?: string; providerSession?: string }) {
      const { issuer, subject, providerSession } = ended;
      return store.change(() => {
        const hash =
          providerSession === undefined ? undefined : providerSessionHash(issuer, providerSession);
        const sessionsToEnd =
          subject === undefined
            ? sessions.ofProviderSession(hash ?? "")
            : sessionsOfAccount(issuer, subject).filter(
                (session) => hash === undefined || session.providerSession === hash,
              );
        for (const session of sessionsToEnd) sessions.remove(session);
        return sessionsToEnd.length;
      });
    },
    /**
     * Returns the caller that a session's secret identifies. Undefined when the session is unknown,
     * expired or ended. Also records a use of the session's token.
     */
    authenticate(secret: string) {
      const session = bySecret(secret);
      if (session === undefined || session.expiresAt <= Date.now()) return undefined;
      const token = tokens.find(session.tokenId);
      const principal = token && principalOf(token);
      return principal && { ...principal, expiresAt: session.expiresAt };
    },
    /** Ends the session with this secret. Does nothing when there is no such session. */
    async end(secret: string) {
      const session = bySecret(secret);
      if (session !== undefined) await store.change(() => sessions.remove(session));
    },
  };

  function sessionsOfAccount(issuer: string, subject: string): StoredSession[] {
    const ids = workspaces.getRange({}).map(({ key }) => key);
    return members
      .ofIdentity([...ids], { issuer, subject })
      .flatMap((member) => tokens.ofMember(member.id))
      .filter(({ carriesSessions }) => carriesSessions)
      .flatMap((token) => sessions.ofToken(token.id));
  }
}

/**
 * Returns a hash that identifies a session at an OpenID provider. It has a fixed length, unlike the
 * id that the provider gives the session, which may be long.
 */
function providerSessionHash(issuer: string, providerSession: string): string {
  return hashOf(JSON.stringify([issuer, providerSession]));
}
