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

export interface Workspaces {
  create(name: string): Promise<Workspace>;
  /** Returns the oldest workspace; creates it when there is none. */
  first(name: string): Promise<{ workspace: Workspace; isMade: boolean }>;
  get(id: string): Workspace | undefined;
  list(): Workspace[];
}

export interface Members {
  create(workspaceId: string, input: MemberInput): Promise<Member>;
  update(workspaceId: string, id: string, input: Partial<MemberInput>): Promise<Member>;
  /** The member's personal tokens stop working in the same transaction. */
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): Member;
  list(workspaceId: string, page: number): CatalogPage<Member>;
}
export type MemberInput = Pick<Member, "name" | "email"> &
  Partial<Pick<Member, "role" | "editTransformations" | "permissions">>;

export interface Tokens {
  /**
   * `secret` is `pm_` with letters and digits. It is generated unless the caller gives one, and is
   * shown here only.
   */
  create(workspaceId: string, input: TokenInput): Promise<{ token: Token; secret: string }>;
  get(workspaceId: string, id: string): Token;
  list(workspaceId: string, page: number): CatalogPage<Token>;
  revoke(workspaceId: string, id: string): Promise<void>;
  /**
   * Undefined for an unknown, expired or revoked secret. Records the time of use, which is stored
   * in the background.
   */
  authenticate(secret: string): Principal | undefined;
}
/** `permissions` are a service token's; a token with `memberId` has its member's instead. */
export interface TokenInput extends Pick<Token, "name" | "permissions" | "memberId" | "expiresAt"> {
  secret?: string;
}

/**
 * Browsers that signed in with a token. Each session has a secret of its own, and permits what its
 * token permits at the time. A session ends with its token, and after `SESSION_SECONDS_MAX`.
 */
export interface Sessions {
  /**
   * `secret` is returned once, for the browser; undefined when `token` is unknown, expired or
   * revoked. The oldest session of a token ends when it has more than `SESSIONS_OF_TOKEN_MAX`.
   */
  begin(token: string): Promise<{ principal: Principal; secret: string } | undefined>;
  /** Undefined for a secret that is unknown, expired or ended. Records the use of the token. */
  authenticate(secret: string): Principal | undefined;
  /** Does nothing when the session does not exist. */
  end(secret: string): Promise<void>;
}

/** Named secrets of user code; values are write-only outside `live`. */
export interface Credentials {
  put(workspaceId: string, name: string, value: string): Promise<Credential>;
  list(workspaceId: string, page: number): CatalogPage<Credential>;
  remove(workspaceId: string, id: string): Promise<void>;
}

/** Items that external tools may know by an id of their own. */
interface ManagedItems<T> {
  /** The connections of a source or destination, and a destination's link, are removed with it. */
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): T;
  /** `marked`: true lists the items with an external id, false those without; all when absent. */
  list(workspaceId: string, page: number, marked?: boolean): CatalogPage<T>;
}

export interface Sources extends ManagedItems<Source> {
  create(workspaceId: string, input: SourceInput): Promise<Source>;
  update(workspaceId: string, id: string, input: Partial<SourceInput>): Promise<Source>;
  rotateWriteKey(workspaceId: string, id: string): Promise<Source>;
}
/** An empty external id takes the source's away. */
export interface SourceInput
  extends Pick<Source, "name" | "typeAs" | "geoEnrichmentEnabled" | "transient" | "externalId">,
    Partial<Pick<Source, "enabled" | "config">> {}

export interface Destinations extends ManagedItems<Destination> {
  create(workspaceId: string, input: DestinationInput): Promise<Destination>;
  /** `logEnds`: where the event logs end now; used when `enabled` changes. */
  update(
    workspaceId: string,
    id: string,
    input: DestinationChange,
    logEnds: Positions,
  ): Promise<Destination>;
}
/** An empty external id takes the destination's away. */
export interface DestinationInput
  extends Pick<Destination, "name" | "type" | "typeAs" | "config" | "externalId">,
    Partial<Pick<Destination, "enabled">> {}
export interface DestinationChange
  extends Partial<Pick<DestinationInput, "name" | "enabled" | "externalId">> {
  /**
   * Computes the new config from the stored destination, inside the change; `update` rejects with
   * what it throws.
   */
  config?: (before: Destination) => Record<string, unknown>;
}

export interface Connections extends ManagedItems<Connection> {
  /** `conflict` when the pair is connected already. */
  create(workspaceId: string, input: ConnectionInput, logEnds: Positions): Promise<Connection>;
  update(
    workspaceId: string,
    id: string,
    input: Pick<ConnectionInput, "enabled" | "externalId">,
    logEnds: Positions,
  ): Promise<Connection>;
}
/** An empty external id takes the connection's away. */
export interface ConnectionInput
  extends Pick<Connection, "sourceId" | "destinationId" | "externalId">,
    Partial<Pick<Connection, "enabled">> {}
