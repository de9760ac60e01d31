import type { Positions } from "../../log/positions.ts";
import type {
  CatalogPage,
  Connection,
  Credential,
  Destination,
  Member,
  Permission,
  Principal,
  Source,
  Token,
  Workspace,
} from "../model.ts";

export interface Workspaces {
  create(name: string): Promise<Workspace>;
  /** The first workspace, made unless there is one. */
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
export interface MemberInput {
  name: string;
  email: string;
  role?: "admin" | "member";
  editTransformations?: boolean;
  permissions?: Permission[];
}

export interface Tokens {
  /**
   * `secret` is `pm_` with letters and digits. It is generated unless the caller gives one, and is
   * shown here only.
   */
  create(workspaceId: string, input: TokenInput): Promise<{ token: Token; secret: string }>;
  get(workspaceId: string, id: string): Token;
  list(workspaceId: string, page: number): CatalogPage<Token>;
  revoke(workspaceId: string, id: string): Promise<void>;
  /** Undefined for an unknown, expired or revoked secret; notes the use (flushed in the background). */
  authenticate(secret: string): Principal | undefined;
}
export interface TokenInput {
  name: string;
  /** A service token's permissions; a token with `memberId` has its member's instead. */
  permissions: Permission[];
  memberId?: string;
  expiresAt?: number;
  secret?: string;
}

/**
 * Browsers that signed in with a token. Each session has a secret of its own, and permits what its
 * token permits at the time. A session ends with its token, and after `SESSION_SECONDS_MAX`.
 */
export interface Sessions {
  /**
   * `secret` is the browser's, shown here only; undefined when `token` is nobody's. The oldest
   * session of a token ends when it has more than `SESSIONS_OF_TOKEN_MAX`.
   */
  begin(token: string): Promise<{ principal: Principal; secret: string } | undefined>;
  /** Undefined for a secret that is unknown, expired or ended; notes the use of the token. */
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

export interface Sources {
  create(workspaceId: string, input: SourceInput): Promise<Source>;
  update(workspaceId: string, id: string, input: Partial<SourceInput>): Promise<Source>;
  rotateWriteKey(workspaceId: string, id: string): Promise<Source>;
  /** The source's connections are removed with it. */
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): Source;
  /** `marked`: true lists the sources with an external id, false those without; all when absent. */
  list(workspaceId: string, page: number, marked?: boolean): CatalogPage<Source>;
}
export interface SourceInput {
  name: string;
  typeAs?: string;
  enabled?: boolean;
  config?: Record<string, unknown>;
  geoEnrichmentEnabled?: boolean;
  transient?: boolean;
  /** An empty external id takes the source's away. */
  externalId?: string;
}

export interface Destinations {
  create(workspaceId: string, input: DestinationInput): Promise<Destination>;
  /** `logEnds`: where the event logs end now; used when `enabled` changes. */
  update(
    workspaceId: string,
    id: string,
    input: DestinationChange,
    logEnds: Positions,
  ): Promise<Destination>;
  /** The destination's connections and its link are removed with it. */
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): Destination;
  /**
   * `marked`: true lists the destinations with an external id, false those without; all when
   * absent.
   */
  list(workspaceId: string, page: number, marked?: boolean): CatalogPage<Destination>;
}
export interface DestinationInput {
  name: string;
  type: string;
  typeAs?: string;
  enabled?: boolean;
  config: Record<string, unknown>;
  /** An empty external id takes the destination's away. */
  externalId?: string;
}
export interface DestinationChange
  extends Partial<Pick<DestinationInput, "name" | "enabled" | "externalId">> {
  /** Makes the new config of what is stored at the change; what this throws, `update` throws. */
  config?: (before: Destination) => Record<string, unknown>;
}

export interface Connections {
  /** `conflict` when the pair is connected already. */
  create(workspaceId: string, input: ConnectionInput, logEnds: Positions): Promise<Connection>;
  update(
    workspaceId: string,
    id: string,
    input: { enabled?: boolean; externalId?: string },
    logEnds: Positions,
  ): Promise<Connection>;
  remove(workspaceId: string, id: string): Promise<void>;
  get(workspaceId: string, id: string): Connection;
  /**
   * `marked`: true lists the connections with an external id, false those without; all when absent.
   */
  list(workspaceId: string, page: number, marked?: boolean): CatalogPage<Connection>;
}
export interface ConnectionInput {
  sourceId: string;
  destinationId: string;
  enabled?: boolean;
  /** An empty external id takes the connection's away. */
  externalId?: string;
}
