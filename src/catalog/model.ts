import type { Positions } from "../log/positions.ts";
import type { SourceSettings } from "./source-settings.ts";

/**
 * Records of the catalog. Times are milliseconds since the Unix epoch; `api/` formats them as ISO
 * strings. Ids are opaque strings that sort by creation and are never reused.
 */

/**
 * Languages of user code. `python` means the same as `pythonfaas`; it is stored and returned as the
 * client sent it.
 */
export type Language = "javascript" | "pythonfaas" | "python";

export const permissions = [
  "transformations:create-delete",
  "transformations:connect",
  "transformations:edit",
  "libraries:edit",
  "destinations:connect",
  "workspace:admin",
  "events:read",
  "events:replay",
  "audit:read",
  "workspace-config:read",
] as const;
export type Permission = (typeof permissions)[number];

/**
 * Roles of a member: named sets of permissions. Each role has all permissions of the roles before
 * it.
 */
export const workspaceRoles = ["viewer", "developer", "operator", "admin"] as const;
export type WorkspaceRole = (typeof workspaceRoles)[number];

export interface Workspace {
  id: string;
  name: string;
  createdAt: number;
  /**
   * Key in hexadecimal that encrypts the cursors (places where the next page begins) of the
   * workspace's event searches. Absent until the first search in workspaces that an older release
   * stored.
   */
  cursorKey?: string;
}

/** Fields that every item of a workspace has. */
interface WorkspaceItem {
  id: string;
  workspaceId: string;
  createdAt: number;
}

/** Fields of every changeable item: an item that can be changed after its creation. */
export interface ChangeableItem extends WorkspaceItem {
  updatedAt: number;
}

/**
 * Fields of every item that can be disabled, and to which a tool such as Terraform may give an
 * external id.
 */
interface ManagedItem extends ChangeableItem {
  enabled: boolean;
  externalId?: string;
}

export interface Member extends ChangeableItem {
  name: string;
  email: string;
  /**
   * Legacy role. A member with the role `admin` and with `editTransformations` set has all five
   * permissions for transformations and libraries.
   */
  role: "admin" | "member";
  editTransformations: boolean;
  /** Permissions that the member has in addition to those of its roles. */
  permissions: Permission[];
  /** Role whose permissions the member has. Absent for a member without a role. */
  workspaceRole?: WorkspaceRole;
  /** Account at an OpenID provider with which the member signs in. Absent if it has none. */
  identity?: Identity;
}

/** An account at an OpenID provider. */
export interface Identity {
  issuer: string;
  /** Id of the account at the OpenID provider, which gives this id to no other account. */
  subject: string;
}

/** An access token. Its secret is not stored. */
export interface Token extends WorkspaceItem {
  name: string;
  /**
   * Permissions of the token. For a personal token, these are the permissions that its member has
   * when the token is used.
   */
  permissions: Permission[];
  /** Id of the member whose permissions a personal token has. Absent for a service token. */
  memberId?: string;
  /**
   * Whether the token was made only to hold the sessions of a member who signs in at an OpenID
   * provider. The secret of such a token is discarded.
   */
  carriesSessions?: true;
  expiresAt?: number;
  lastUsedAt?: number;
}

/** The caller of a request. The token or session of the request identifies it. */
export interface Principal {
  workspaceId: string;
  tokenId: string;
  /** Id of the member that the caller's personal token belongs to. Absent for a service token. */
  memberId?: string;
  permissions: ReadonlySet<Permission>;
  /**
   * Time, in milliseconds since the epoch, at which the caller's token or session expires. Absent
   * for a token or session that does not expire.
   */
  expiresAt?: number;
}

/** Author of a revision: the token that sent it, and the member if the token is a personal one. */
export type Author = Pick<Principal, "tokenId" | "memberId">;

export interface Source extends ManagedItem {
  name: string;
  /**
   * Type of the source: `http`, or the name of one of RudderStack's source types as the client
   * spelled it. Sources of all types accept the same requests.
   */
  type: string;
  /** Spelling of the type `http` that the client used, such as `HTTP`. Absent when it is `http`. */
  typeAs?: string;
  writeKey: string;
  config: Record<string, unknown>;
  /**
   * Setting that RudderStack's clients store with a source. pixelmill returns this setting and
   * `transient` to clients, and uses neither itself.
   */
  geoEnrichmentEnabled?: boolean;
  transient?: boolean;
  /**
   * Settings that a client set. All other settings of the source have the defaults in
   * `settingsOfSource`.
   */
  settings?: Partial<SourceSettings>;
}

export interface Destination extends ManagedItem {
  name: string;
  /**
   * Kind of the destination: the name of a folder in `src/destinations`, such as `webhook`. For a
   * destination to which rudder-server delivers, the name of RudderStack's type, such as `WEBHOOK`.
   */
  type: string;
  /** Type as the client spelled it, such as `WEBHOOK`. Absent if this spelling equals `type`. */
  typeAs?: string;
  /** Program that delivers the destination's events. Absent when pixelmill delivers them. */
  deliveredBy?: "rudder-server";
  /** Version of RudderStack's destination type, as a client sent it. pixelmill only returns it. */
  version?: number;
  /**
   * Ids of the consents that the destination needs. It gets no event of a user who denied one of
   * these consents. Absent when it needs none.
   */
  consentIds?: readonly string[];
  /** Selects the events that the destination gets. Absent when it gets all. */
  filter?: DestinationFilter;
  config: Record<string, unknown>;
}

/** Filter of events by the values of their fields. `src/event` uses it as a `FieldFilter`. */
export interface DestinationFilter {
  mode: "only" | "except";
  conditions: readonly { path: string; values: readonly string[] }[];
}

/**
 * Connection of a source to a destination. While it is live, new events of the source are delivered
 * to the destination.
 */
export interface Connection extends ManagedItem {
  sourceId: string;
  destinationId: string;
  /**
   * Log positions at which the connection's last live period started, which is the current one
   * while the connection is live. Events before these positions are delivered only if they belong
   * to a period in `earlier`.
   */
  from: Positions;
  /**
   * Log positions at which the connection's last live period ended. Events between `from` and these
   * positions are still delivered. Absent while the connection is live.
   */
  until?: Positions;
  /**
   * Live periods before the one that starts at `from`, oldest first. Events of these periods that
   * have not been delivered yet are delivered too.
   */
  earlier?: readonly { from: Positions; until: Positions }[];
  /**
   * Id that delivery uses instead of `id` after the connection's source or destination was
   * replaced. Delivery thus treats the connection as a new one. Absent while the connection has its
   * first source and destination.
   */
  routeId?: string;
}

export interface Credential extends ChangeableItem {
  /** Name by which user code reads the credential. It matches `[A-Za-z_][A-Za-z0-9_]*`. */
  name: string;
}

export type CodeKind = "transformation" | "library";

/**
 * One immutable version of a transformation's or library's code. Revisions are never deleted. `id`
 * is the id of the transformation or library.
 */
export interface Revision extends WorkspaceItem {
  kind: CodeKind;
  versionId: string;
  name: string;
  description: string;
  code: string;
  language: Language;
  /**
   * Name by which code imports the library: lodash `camelCase(name)`. Absent for a transformation.
   */
  importName?: string;
  /**
   * Names that the code imports. They are found by a search of the code's text, without a full
   * parser of the language. Absent in revisions that older releases stored.
   */
  imports?: string[];
  /**
   * Author of the revision. Absent in revisions that older releases stored, and in revisions that
   * the server created itself.
   */
  createdBy?: Author;
}

/**
 * Changeable state of a transformation or library, such as whether it is published. The name and
 * the code are in its revisions, which never change.
 */
export interface Resource extends WorkspaceItem {
  kind: CodeKind;
  language: Language;
  /** versionId of the newest revision (version of the code). */
  newest: string;
  /** versionId of the published revision. Absent for a draft, and for deleted code. */
  published?: string;
  deleted: boolean;
  externalId?: string;
  /** Reason that a user gave for the last saving or publishing of a revision. */
  note?: string;
}

/**
 * One test case of a transformation: events, and what the code must return for them. A revision is
 * tested with all test cases of its transformation before it is published.
 */
export interface TestCase {
  id: string;
  /** Id of this version of the test case. Each change of the test case gives it a new one. */
  versionId: string;
  name: string;
  description?: string;
  input: Record<string, unknown>[];
  /**
   * Expected outputs for all events of the test case, in order. Absent if the test case accepts all
   * outputs, and fails only when an error occurs.
   */
  expectedOutput?: Record<string, unknown>[];
  createdAt: number;
  updatedAt: number;
  /** Author of the test case's last change. Absent when the server itself made the change. */
  createdBy?: Author;
}

/**
 * The published version of a transformation or library. Publishing writes it; delivery reads it.
 */
export interface Publication {
  versionId: string;
  /** Names that the code imports, in order of occurrence. Includes standard modules of Python. */
  imports: string[];
}

/** One page of a list, with the number of items in the whole list. */
export interface CatalogPage<T> {
  items: T[];
  total: number;
}
