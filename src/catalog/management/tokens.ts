import { ApiError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { newId } from "../ids.ts";
import type { Permission, Principal, Token } from "../model.ts";
import { hashOf, isSecret, newSecret } from "../secrets.ts";
import type { CatalogStore } from "../store.ts";
import type { StoredToken, Tables } from "../tables/tables.ts";
import {
  boundedEnd,
  effectivePermissions,
  expectOwnMember,
  expectOwnPermissions,
  type Grantor,
} from "./grants.ts";
import type { ItemLimits } from "./item-limits.ts";
import { permissionsOf } from "./roles.ts";

/**
 * Maximum milliseconds until the time of a token's use is stored. Uses are stored together, because
 * each write to the catalog delays the changes of a cluster's other nodes.
 */
const TOKEN_USE_FLUSH_MS = 60_000;

/**
 * Fields of a new token. `permissions` apply to a service token. A token with `memberId` is a
 * personal token, and has its member's permissions instead.
 */
interface TokenInput extends Pick<Token, "name" | "permissions" | "memberId" | "expiresAt"> {
  secret?: string;
}

/**
 * Creates the methods that manage tokens. `principalOf` returns the caller that a token identifies,
 * and records the use of the token in memory. `flush` stores the recorded uses in the catalog.
 */
export function openTokens(
  store: CatalogStore,
  { tokens, members }: Tables,
  limits: ItemLimits,
  logger: Logger,
) {
  const used = new Map<string, number>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  function permissionsNow(token: StoredToken): ReadonlySet<Permission> | undefined {
    if (token.memberId === undefined) return new Set(token.permissions);
    const member = members.find(token.memberId);
    return member && permissionsOf(member);
  }

  function noteUse(id: string): void {
    used.set(id, Date.now());
    timer ??= setTimeout(flush, TOKEN_USE_FLUSH_MS);
    timer.unref();
  }

  /**
   * Stores the recorded uses of tokens. Never rejects: if the uses cannot be stored, neither a
   * request nor a shutdown fails because of it.
   */
  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const noted = [...used];
    if (noted.length === 0) return;
    try {
      await store.change(() => {
        for (const [id, at] of noted) {
          if (tokens.find(id) !== undefined) tokens.uses.put(id, at);
        }
      });
      // Uses are read from memory until they are stored; a newer use waits for the next flush.
      for (const [id, at] of noted) if (used.get(id) === at) used.delete(id);
    } catch (error) {
      logger.warn({ err: error }, "token uses not stored");
    }
  }

  function shown(stored: StoredToken): Token {
    const { hash: _, ...token } = stored;
    const lastUsedAt = used.get(token.id) ?? tokens.uses.get(token.id);
    return {
      ...token,
      permissions: [...(permissionsNow(stored) ?? [])],
      ...(lastUsedAt !== undefined && { lastUsedAt }),
    };
  }

  function principalOf(token: StoredToken): Principal | undefined {
    const { id, workspaceId, memberId, expiresAt } = token;
    if ((expiresAt ?? Infinity) <= Date.now()) return undefined;
    const permissions = permissionsNow(token);
    if (permissions === undefined) return undefined;
    noteUse(id);
    return {
      workspaceId,
      tokenId: id,
      ...(memberId !== undefined && { memberId }),
      permissions: effectivePermissions(permissions),
      ...(expiresAt !== undefined && { expiresAt }),
    };
  }

  return {
    /**
     * Creates a token and returns it with its secret, which cannot be read later. Without an expiry
     * time, uses that of the grantor's (caller's) token. Rejects a later expiry time, and
     * permissions that the grantor lacks. Only a grantor's tokens are limited in number: without
     * one, the operator creates the token.
     */
    async create(workspaceId: string, input: TokenInput, grantor?: Grantor) {
      const secret = input.secret ?? newSecret();
      if (!isSecret(secret)) {
        throw new ApiError("invalid", "A token secret is pm_ and 32 to 255 letters or digits");
      }
      const { memberId } = input;
      if (memberId === undefined) expectOwnPermissions(input.permissions, grantor);
      else expectOwnMember(memberId, grantor);
      const now = Date.now();
      const made: StoredToken = {
        id: newId(now),
        workspaceId,
        name: input.name,
        permissions: input.permissions,
        ...(memberId !== undefined && { memberId }),
        createdAt: now,
        hash: hashOf(secret),
      };
      const token = await store.change(() => {
        if (memberId !== undefined) members.get(workspaceId, memberId);
        if (tokens.byHash(made.hash)) throw new ApiError("conflict", "The token exists already");
        if (grantor !== undefined) limits.expectRoom(workspaceId, "tokens");
        const own = grantor && tokens.get(workspaceId, grantor.tokenId);
        const expiresAt = boundedEnd(input.expiresAt, own?.expiresAt);
        const token = { ...made, ...(expiresAt !== undefined && { expiresAt }) };
        tokens.put(token);
        return token;
      });
      return { token: shown(token), secret };
    },
    get: (workspaceId: string, id: string) => shown(tokens.get(workspaceId, id)),
    list(workspaceId: string, page: number) {
      const { items, total } = tokens.list(workspaceId, page);
      return { items: items.map(shown), total };
    },
    revoke(workspaceId: string, id: string) {
      return store.change(() => tokens.remove(tokens.get(workspaceId, id)));
    },
    /**
     * Returns the caller that a token's secret identifies. Undefined when the token is unknown,
     * expired or revoked. Also records the time of this use, which is stored within
     * `TOKEN_USE_FLUSH_MS`.
     */
    authenticate(secret: string) {
      const token = isSecret(secret) ? tokens.byHash(hashOf(secret)) : undefined;
      return token && principalOf(token);
    },
    /**
     * Returns the ids of the token with this secret and of its workspace, even if the token has
     * expired. Returns undefined when the token is unknown or was revoked.
     */
    idsOf(secret: string) {
      const token = isSecret(secret) ? tokens.byHash(hashOf(secret)) : undefined;
      return token && { workspaceId: token.workspaceId, tokenId: token.id };
    },
    principalOf,
    flush,
  };
}
