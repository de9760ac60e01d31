import type { Positions } from "../../log/positions.ts";
import type {
  CatalogPage,
  Connection,
  Credential,
  Destination,
  Member,
  Principal,
  Source,
  Token,
  Workspace,
} from "../model.ts";
import type { Grantor } from "./grants.ts";

export interface Workspaces {
  create(name: string): Promise<Workspace>;
  /**
   * Returns the oldest workspace, or creates one when there is none. `isMade` is true when it was
   * created.
   */
  first(name: string): Promise<{ workspace: Workspace; isMade: boolean }>;
  get(id: string): Workspace | undefined;
  list(): Workspace[];
  /** Returns the key that encrypts the cursors of the workspace's searches: 256 random bits. */
  cursorKey(id: string): Promise<Uint8Array>;
}

export interface Members {
  /** Creates a member. Throws when it would have a permission that the grantor lacks. */
  create(workspaceId: string, input: MemberInput, grantor?: Grantor): Promise<Member>;
  /** Changes a member. Throws when it would gain a permission that the grantor lacks. */
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
  Partial<Pick<Member, "role" | "editTransformations" | "permissions">>;

export interface Tokens {
  /**
   * Creates a token. Its secret is `pm_` followed by letters and digits, generated unless the
   * caller gives one. The secret cannot be read later. Throws when the token would have permissions
   * that the grantor lacks, or a later end than the grantor's own token, which is also the default.
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
}
/**
 * Data of a new token. `permissions` apply to a service token; a token with `memberId` is personal,
 * and has its member's permissions instead.
 */
export interface TokenInput extends Pick<Token, "name" | "permissions" | "memberId" | "expiresAt"> {
  secret?: string;
}

/**
 * Sessions of browsers that signed in with a token. Each session has its own secret, and has the
 * permissions that its token has at the time of a request. It ends with its token, or after
 * `SESSION_SECONDS_MAX`.
 */
export interface Sessions {
  /**
   * Begins a session, and returns its secret for the browser; the secret cannot be read later.
   * Undefined when `token` is unknown, expired or revoked. When the token has more than
   * `SESSIONS_OF_TOKEN_MAX` sessions, its oldest one ends.
   */
  begin(token: string): Promise<{ principal: Principal; secret: string } | undefined>;
  /**
   * Returns the caller that a session's secret identifies. Undefined when the session is unknown,
   * expired or ended. Also records a use of the session's token.
   */
  authenticate(secret: string): Principal | undefined;
  /** Ends the session with this secret. Does nothing when there is none. */
  end(secret: string): Promise<void>;
}

/**
 * Credentials: named secrets that user code reads. Their values can be written and not read here;
 * only `live` reads them.
 */
export interface Credentials {
  put(workspaceId: string, name: string, value: string): Promise<Credential>;
  list(workspaceId: string, page: number): CatalogPage<Credential>;
  remove(workspaceId: string, id: string): Promise<void>;
}

/** Methods of items that may have an external id, by which external tools know them. */
interface ManagedItems<T> {
  /**
   * Removes the item. Removing a source or destination also removes its connections, which can be
   * restored for some days, and removing a destination removes its link to a transformation.
   */
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): T;
  /**
   * Lists a page of items. `marked` true lists only items with an external id, false only those
   * without; undefined lists all.
   */
  list(workspaceId: string, page: number, marked?: boolean): CatalogPage<T>;
}

export interface Sources extends ManagedItems<Source> {
  create(workspaceId: string, input: SourceInput): Promise<Source>;
  update(workspaceId: string, id: string, input: Partial<SourceInput>): Promise<Source>;
  rotateWriteKey(workspaceId: string, id: string): Promise<Source>;
}
/** Data of a source. An empty external id removes the one that the source has. */
export interface SourceInput
  extends Pick<Source, "name" | "geoEnrichmentEnabled" | "transient" | "externalId">,
    Partial<Pick<Source, "type" | "enabled" | "config">> {}

export interface Destinations extends ManagedItems<Destination> {
  create(workspaceId: string, input: DestinationInput): Promise<Destination>;
  /**
   * Changes a destination. `logEnds` is where the event logs end now: when `enabled` changes, the
   * destination's connections start or stop there.
   */
  update(
    workspaceId: string,
    id: string,
    input: DestinationChange,
    logEnds: Positions,
  ): Promise<Destination>;
}
/** Data of a destination. An empty external id removes the one that the destination has. */
export interface DestinationInput
  extends Pick<Destination, "name" | "type" | "typeAs" | "version" | "config" | "externalId">,
    Partial<Pick<Destination, "enabled">> {}
export interface DestinationChange
  extends Partial<Pick<DestinationInput, "name" | "version" | "enabled" | "externalId">> {
  /**
   * Computes the new config from the stored destination, inside the transaction. If it throws,
   * `update` rejects with the same error.
   */
  config?: (before: Destination) => Record<string, unknown>;
}

export interface Connections extends ManagedItems<Connection> {
  /**
   * Connects a source to a destination. Refuses with `conflict` when they are connected already.
   */
  create(workspaceId: string, input: ConnectionInput, logEnds: Positions): Promise<Connection>;
  /**
   * Changes a connection. With another source or destination, the events from now on take the new
   * route, and events that were owed by the old one are discarded, as when a connection is removed.
   * Restores a connection that was removed with its source or destination, if it has both again.
   */
  update(
    workspaceId: string,
    id: string,
    input: Partial<ConnectionInput>,
    logEnds: Positions,
  ): Promise<Connection>;
}
/** Data of a connection. An empty external id removes the one that the connection has. */
export interface ConnectionInput
  extends Pick<Connection, "sourceId" | "destinationId" | "externalId">,
    Partial<Pick<Connection, "enabled">> {}
