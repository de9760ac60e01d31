import type {
  Connection,
  Credential,
  Destination,
  Identity,
  Member,
  Source,
  Token,
  Workspace,
} from "../model.ts";
import { hashOf, sameHash } from "../secrets.ts";
import { type CatalogStore, keysBelow, LAST } from "../store.ts";
import { removedConnectionTable } from "./removed-connections.ts";
import { topologyChanges } from "./topology-changes.ts";
import { managedTable, workspaceTable } from "./workspace-table.ts";

/**
 * Tables of workspaces, members, tokens, sources, destinations, connections and credentials, with
 * their indexes.
 */
export type Tables = ReturnType<typeof openTables>;

export function openTables(store: CatalogStore) {
  return {
    workspaces: store.table<Workspace, string>("workspaces"),
    members: memberTable(store),
    tokens: tokenTable(store),
    credentials: credentialTable(store),
    sources: sourceTable(store),
    destinations: managedTable<Destination>(store, "destinations", "Destination"),
    connections: connectionTable(store),
    topology: topologyChanges(store),
    removedConnections: removedConnectionTable(store),
  };
}

function memberTable(store: CatalogStore) {
  const members = workspaceTable<Member>(store, "members", "Member");
  const byIdentity = store.table<string, [workspaceId: string, identityHash: string]>(
    "members-by-identity",
  );
  return {
    ...members,
    byIdentity: (workspaceId: string, identity: Identity): Member | undefined =>
      findAll(members.find, [byIdentity.get([workspaceId, identityHash(identity)])])[0],
    /**
     * Returns the members of the given workspaces that sign in with this account at an OpenID
     * provider. A workspace has at most one such member.
     */
    ofIdentity(workspaceIds: readonly string[], identity: Identity): Member[] {
      const ids = workspaceIds.map((id) => byIdentity.get([id, identityHash(identity)]));
      return findAll(members.find, ids);
    },
    put(member: Member): void {
      members.put(member);
      const { workspaceId, identity, id } = member;
      if (identity) byIdentity.put([workspaceId, identityHash(identity)], id);
    },
    remove(member: Member): void {
      members.remove(member);
      const { workspaceId, identity } = member;
      if (identity) byIdentity.remove([workspaceId, identityHash(identity)]);
    },
  };
}

/**
 * Returns a hash that identifies an account at an OpenID provider. Keys of tables contain the hash
 * and not the provider's ids, because these ids may be long.
 */
function identityHash({ issuer, subject }: Identity): string {
  return hashOf(JSON.stringify([issuer, subject]));
}

/** A token as it is stored: with the hash of its secret, but without the secret itself. */
export interface StoredToken extends Token {
  hash: string;
}

function tokenTable(store: CatalogStore) {
  const tokens = workspaceTable<StoredToken>(store, "tokens", "Token");
  const byHash = store.table<string, string>("tokens-by-hash");
  const byMember = store.table<true, [memberId: string, id: string]>("tokens-by-member");
  const uses = store.table<number, string>("token-uses");
  const sessions = sessionTable(store);
  return {
    ...tokens,
    /**
     * Table of the time of each token's last use, by the token's id. It is separate from the table
     * of tokens, because these times change much more often than the tokens.
     */
    uses,
    sessions,
    byHash(hash: string): StoredToken | undefined {
      const token = findAll(tokens.find, [byHash.getNewest(hash)])[0];
      return token !== undefined && sameHash(token.hash, hash) ? token : undefined;
    },
    ofMember(memberId: string): StoredToken[] {
      const ids = byMember.getKeys(keysBelow(memberId)).map(([, id]) => id);
      return findAll(tokens.find, ids);
    },
    put(token: StoredToken): void {
      tokens.put(token);
      byHash.put(token.hash, token.id);
      if (token.memberId !== undefined) byMember.put([token.memberId, token.id], true);
    },
    remove(token: StoredToken): void {
      tokens.remove(token);
      byHash.remove(token.hash);
      uses.remove(token.id);
      for (const session of sessions.ofToken(token.id)) sessions.remove(session);
      if (token.memberId !== undefined) byMember.remove([token.memberId, token.id]);
    },
  };
}

/**
 * A browser's session as it is stored: with the hash of its secret, but without the secret itself.
 */
export interface StoredSession {
  hash: string;
  tokenId: string;
  createdAt: number;
  expiresAt: number;
  /**
   * Single hash over both the OpenID provider's URL and the id of the provider's own session.
   * Absent when this session did not begin at a provider, or the provider sent no such id.
   */
  providerSession?: string;
}

function sessionTable(store: CatalogStore) {
  const sessions = store.table<StoredSession, string>("sessions");
  const byToken = store.table<true, [tokenId: string, createdAt: number, hash: string]>(
    "sessions-by-token",
  );
  const byProvider = store.table<true, [providerSession: string, hash: string]>(
    "sessions-by-provider",
  );
  return {
    /**
     * Returns the sessions that began with one session at an OpenID provider. `providerSession` is
     * the hash that identifies the provider's session.
     */
    ofProviderSession(providerSession: string): StoredSession[] {
      const keys = byProvider.getKeys(keysBelow(providerSession));
      return findAll(
        sessions.get,
        [...keys].map(([, hash]) => hash),
      );
    },
    byHash(hash: string): StoredSession | undefined {
      const session = sessions.getNewest(hash);
      return session !== undefined && sameHash(session.hash, hash) ? session : undefined;
    },
    /** Returns the sessions of a token, oldest first. */
    ofToken(tokenId: string): StoredSession[] {
      const keys = byToken.getKeys({
        start: [tokenId, 0, ""],
        end: [tokenId, Number.MAX_SAFE_INTEGER, LAST],
      });
      return findAll(
        sessions.get,
        [...keys].map(([, , hash]) => hash),
      );
    },
    put(session: StoredSession): void {
      sessions.put(session.hash, session);
      byToken.put([session.tokenId, session.createdAt, session.hash], true);
      if (session.providerSession) byProvider.put([session.providerSession, session.hash], true);
    },
    remove({ hash, tokenId, createdAt, providerSession }: StoredSession): void {
      sessions.remove(hash);
      if (providerSession) byProvider.remove([providerSession, hash]);
      byToken.remove([tokenId, createdAt, hash]);
    },
  };
}

function credentialTable(store: CatalogStore) {
  const credentials = workspaceTable<Credential>(store, "credentials", "Credential");
  const byName = store.table<string, [workspaceId: string, name: string]>("credentials-by-name");
  const values = store.table<string, [workspaceId: string, name: string]>("credential-values");
  return {
    ...credentials,
    byName: (workspaceId: string, name: string): Credential | undefined =>
      findAll(credentials.find, [byName.get([workspaceId, name])])[0],
    /**
     * Returns the secret values of a workspace's credentials, by name. Only code that delivers or
     * tests events may call this.
     */
    values(workspaceId: string): Record<string, string> {
      const range = values.getRange(keysBelow(workspaceId));
      // Built without assignment to a key, since a credential may be called `__proto__`.
      return Object.fromEntries([...range].map(({ key, value }) => [key[1], value]));
    },
    /**
     * Table of one stamp (an id) per workspace, replaced at each change of the workspace's
     * credentials. The stamp is part of published programs' ids, so that changed credentials make a
     * new program.
     */
    stamps: store.table<string, string>("credential-stamps"),
    putValue(credential: Credential, value: string): void {
      credentials.put(credential);
      byName.put([credential.workspaceId, credential.name], credential.id);
      values.put([credential.workspaceId, credential.name], value);
    },
    remove(credential: Credential): void {
      credentials.remove(credential);
      byName.remove([credential.workspaceId, credential.name]);
      values.remove([credential.workspaceId, credential.name]);
    },
  };
}

function sourceTable(store: CatalogStore) {
  const sources = managedTable<Source>(store, "sources", "Source");
  const byWriteKey = store.table<string, string>("sources-by-write-key");
  return {
    ...sources,
    byWriteKey: (writeKey: string): Source | undefined =>
      findAll(sources.find, [byWriteKey.getNewest(writeKey)])[0],
    put(source: Source): void {
      sources.put(source);
      byWriteKey.put(source.writeKey, source.id);
    },
    remove(source: Source): void {
      sources.remove(source);
      byWriteKey.remove(source.writeKey);
    },
    forgetWriteKey(writeKey: string): void {
      byWriteKey.remove(writeKey);
    },
  };
}

function connectionTable(store: CatalogStore) {
  const connections = managedTable<Connection>(store, "connections", "Connection");
  const pairs = store.table<string, [sourceId: string, destinationId: string]>("connection-pairs");
  const byDestination = store.table<true, [destinationId: string, id: string]>(
    "connections-by-destination",
  );
  // The keys are collected first: nothing else may run while a cursor is open.
  const idsOfSource = (sourceId: string): string[] =>
    [...pairs.getRange(keysBelow(sourceId))].map(({ value }) => value).sort();
  const idsOfDestination = (destinationId: string): string[] =>
    [...byDestination.getKeys(keysBelow(destinationId))].map(([, id]) => id);
  return {
    ...connections,
    /** Returns the id of the connection from a source to a destination, if there is one. */
    ofPair: ({ sourceId, destinationId }: Pick<Connection, "sourceId" | "destinationId">) =>
      pairs.get([sourceId, destinationId]),
    /** Returns the ids of the connections that begin at a source, oldest first. */
    idsOfSource,
    /** Returns the ids of the connections that lead to a destination, oldest first. */
    idsOfDestination,
    ofSource: (sourceId: string) => findAll(connections.find, idsOfSource(sourceId)),
    ofDestination: (destinationId: string) =>
      findAll(connections.find, idsOfDestination(destinationId)),
    put(connection: Connection): void {
      connections.put(connection);
      pairs.put([connection.sourceId, connection.destinationId], connection.id);
      byDestination.put([connection.destinationId, connection.id], true);
    },
    remove(connection: Connection): void {
      connections.remove(connection);
      pairs.remove([connection.sourceId, connection.destinationId]);
      byDestination.remove([connection.destinationId, connection.id]);
    },
  };
}

function findAll<T>(find: (id: string) => T | undefined, ids: Iterable<string | undefined>): T[] {
  // The ids are collected first: nothing else may run while a cursor is open.
  return [...ids]
    .map((id) => (id === undefined ? undefined : find(id)))
    .filter((item) => item !== undefined);
}
