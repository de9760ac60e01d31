import type { Positions } from "../../log/positions.ts";
import type {
  CatalogPage,
  Connection,
  Credential,
  Destination,
  DestinationFilter,
  Identity,
  Member,
  Principal,
  Source,
  Token,
  Workspace,
  WorkspaceRole,
} from "../model.ts";
import type { Grantor } from "./grants.ts";

export interface Workspaces {
  create(name: string): Promise<Workspace>;
  /**
   * Returns the oldest workspace, or creates one when there is none. `isMade` is true when the
   * workspace was created.
   */
  first(name: string): Promise<{ workspace: Workspace; isMade: boolean }>;
  get(id: string): Workspace | undefined;
  list(): Workspace[];
  /** Returns the key that encrypts the cursors of the workspace's searches: 256 random bits. */
  cursorKey(id: string): Promise<Uint8Array>;
}

export interface Members {
  /**
   * Creates a member. Rejects when the member would have a permission that the grantor (the caller)
   * lacks.
   */
  create(workspaceId: string, input: MemberInput, grantor?: Grantor): Promise<Member>;
  /**
   * Changes a member. Rejects when the member would gain a permission that the grantor (the caller)
   * lacks.
   */
  update(
    workspaceId: string,
    id: string,
    input: Partial<MemberInput>,
    grantor?: Grantor,
  ): Promise<Member>;
  /** Removes a member. The member's personal tokens stop working in the same transaction. */
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): Member;
  list(workspaceId: string, page: number): CatalogPage<Member>;
}
export type MemberInput = Pick<Member, "name" | "email"> &
  Partial<Pick<Member, "role" | "editTransformations" | "permissions">> & {
    /** Null for no role. */
    workspaceRole?: WorkspaceRole | null;
  };

export interface Tokens {
  /**
   * Creates a token. Its secret is `pm_` followed by letters and digits, and is generated unless
   * the caller provides it. The secret cannot be read later. The token expires with the grantor's
   * (the caller's) own token by default. Rejects when the token would have permissions that the
   * grantor lacks, or would expire later than the grantor's own token.
   */
  create(
    workspaceId: string,
    input: TokenInput,
    grantor?: Grantor,
  ): Promise<{ token: Token; secret: string }>;
  get(workspaceId: string, id: string): Token;
  list(workspaceId: string, page: number): CatalogPage<Token>;
  revoke(workspaceId: string, id: string): Promise<void>;
  /**
   * Returns the caller that a token's secret identifies. Undefined when the token is unknown,
   * expired or revoked. Also records the time of use, which is stored a moment later.
   */
  authenticate(secret: string): Principal | undefined;
  /**
   * Returns the token that a secret belonged to which `authenticate` does not accept any more.
   * Undefined when the token is unknown or was deleted.
   */
  expired(secret: string): Pick<Principal, "workspaceId" | "tokenId"> | undefined;
}
/**
 * Data of a new token. `permissions` apply to a service token; a token with `memberId` is personal,
 * and has its member's permissions instead.
 */
interface TokenInput extends Pick<Token, "name" | "permissions" | "memberId" | "expiresAt"> {
  secret?: string;
}

/**
 * Sessions of browsers that signed in with a token. Each session has its own secret, and always has
 * the current permissions of its token. A session ends with its token, or after
 * `SESSION_SECONDS_MAX`.
 */
export interface Sessions {
  /**
   * Begins a session, and returns its secret for the browser. The secret cannot be read later.
   * Undefined when `token` is unknown, expired or revoked. When the token has more than
   * `SESSIONS_OF_TOKEN_MAX` sessions, its oldest session ends.
   */
  begin(token: string): Promise<BegunSession | undefined>;
  /**
   * Begins a session of a member who signed in at an OpenID provider. The session belongs to a
   * personal token of the member whose secret is thrown away. Revoking that token ends the
   * sessions. Rejects with `missing` when the member does not exist.
   */
  beginForMember(
    workspaceId: string,
    memberId: string,
    options: {
      /** When the session ends, in milliseconds since the epoch. */
      expiresAt: number;
      /** Id of the session at the provider (`sid`). Absent when the provider sends none. */
      providerSession?: string;
    },
  ): Promise<BegunSession>;
  /**
   * Ends the sessions that began with a session at an OpenID provider: those of one provider
   * session, of one account, or of one provider session of that account. Returns their number.
   */
  endProviderSessions(ended: {
    issuer: string;
    subject?: string;
    providerSession?: string;
  }): Promise<number>;
  /**
   * Returns the caller that a session's secret identifies. Undefined when the session is unknown,
   * expired or ended. Also records a use of the session's token.
   */
  authenticate(secret: string): Principal | undefined;
  /** Ends the session with this secret. Does nothing when there is no such session. */
  end(secret: string): Promise<void>;
}

export interface BegunSession {
  principal: Principal;
  /** Secret of the session, for the browser's cookie. */
  secret: string;
}

/** Members by their accounts at an OpenID provider. */
export interface Identities {
  /**
   * Returns the member of an account, updated with the account's current name, email address and
   * role. The first sign-in of an account creates its member, or links it to the member that has the
   * same email address and no account yet, if the provider has verified the address.
   */
  admit(workspaceId: string, account: ProviderAccount): Promise<Member>;
  /**
   * Takes the role from the member of an account that may not sign in any more, and ends the
   * member's sessions. Does nothing for an unknown account.
   */
  refuse(workspaceId: string, identity: Identity): Promise<void>;
}
/** An account at an OpenID provider, as the provider describes it at a sign-in. */
export interface ProviderAccount {
  identity: Identity;
  name: string;
  email: string;
  /** Whether the provider has checked that the address belongs to the account. */
  isEmailVerified: boolean;
  role: WorkspaceRole;
}

/**
 * Credentials: named secrets that user code reads. This interface writes their values but cannot
 * read them; delivery reads them with `Live`.
 */
export interface Credentials {
  put(workspaceId: string, name: string, value: string): Promise<Credential>;
  get(workspaceId: string, id: string): Credential;
  list(workspaceId: string, page: number): CatalogPage<Credential>;
  remove(workspaceId: string, id: string): Promise<void>;
}

/**
 * Methods for items that may have an external id, which an external tool such as Terraform gave
 * them.
 */
interface ManagedItems<T> {
  /**
   * Removes the item. Removing a source or destination also removes its connections, which can be
   * restored for some days. Removing a destination also removes its link to a transformation.
   */
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): T;
  /**
   * Returns one page of a list of items. With `marked` true, the list has only items with an
   * external id; with false, only items without; with undefined, all items.
   */
  list(workspaceId: string, page: number, marked?: boolean): CatalogPage<T>;
  /** Iterates over a workspace's items, in the order of creation. */
  each(workspaceId: string): Iterable<T>;
  /** Returns those of a workspace's items that have one of the ids. */
  withIds(workspaceId: string, ids: readonly string[]): T[];
  /** Returns the number of a workspace's items. Takes time in proportion to that number. */
  count(workspaceId: string): number;
}

export interface Sources extends ManagedItems<Source> {
  create(workspaceId: string, input: SourceInput): Promise<Source>;
  update(workspaceId: string, id: string, input: Partial<SourceInput>): Promise<Source>;
  rotateWriteKey(workspaceId: string, id: string): Promise<Source>;
}
/**
 * Data of a source. An empty external id removes the source's external id. Settings that a change
 * does not contain keep their values.
 */
export interface SourceInput
  extends Pick<Source, "name" | "geoEnrichmentEnabled" | "transient" | "externalId" | "settings">,
    Partial<Pick<Source, "type" | "enabled" | "config">> {}

export interface Destinations extends ManagedItems<Destination> {
  create(workspaceId: string, input: DestinationInput): Promise<Destination>;
  /**
   * Changes a destination. `logEnds` is where the event logs end now. When `enabled` changes, the
   * destination's connections start or stop delivering at these positions.
   */
  update(
    workspaceId: string,
    id: string,
    input: DestinationChange,
    logEnds: Positions,
  ): Promise<Destination>;
}
/** Data of a destination. An empty external id removes the destination's external id. */
interface DestinationInput
  extends Pick<Destination, "name" | "type" | "typeAs" | "version" | "config" | "externalId">,
    Partial<Pick<Destination, "enabled" | "consentIds" | "deliveredBy" | "filter">> {}
export interface DestinationChange
  extends Partial<
    Pick<DestinationInput, "name" | "version" | "enabled" | "consentIds" | "externalId">
  > {
  /**
   * Computes the new config from the stored destination, inside the transaction. If this function
   * throws, `update` rejects with the same error.
   */
  config?: (before: Destination) => Record<string, unknown>;
  /** Null removes the filter. */
  filter?: DestinationFilter | null;
}

export interface Connections extends ManagedItems<Connection> {
  /** Iterates over the connections of a source, of a destination, or of both, the oldest first. */
  eachOf(workspaceId: string, ends: ConnectionEnds): Iterable<Connection>;
  /** Returns the id of the connection that connects a source to a destination. */
  idOf(ends: Pick<Connection, "sourceId" | "destinationId">): string | undefined;
  /**
   * Connects a source to a destination, from `logEnds` on, which is where the event logs end now.
   * Rejects with `conflict` when they are already connected.
   */
  create(workspaceId: string, input: ConnectionInput, logEnds: Positions): Promise<Connection>;
  /**
   * Changes a connection. If its source or destination is replaced, later events take the new
   * route, and undelivered events of the old route are discarded, as when a connection is removed.
   * Also restores a connection that was removed with its source or destination, if the change gives
   * it both.
   */
  update(
    workspaceId: string,
    id: string,
    input: Partial<ConnectionInput>,
    logEnds: Positions,
  ): Promise<Connection>;
}
/** Ends of a connection, of which one is known at least. */
interface ConnectionEnds {
  sourceId?: string | undefined;
  destinationId?: string | undefined;
}
/** Data of a connection. An empty external id removes the connection's external id. */
export interface ConnectionInput
  extends Pick<Connection, "sourceId" | "destinationId" | "externalId">,
    Partial<Pick<Connection, "enabled">> {}
