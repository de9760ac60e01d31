/**
 * What the catalog holds. Times are milliseconds since the epoch; `api/` turns them into
 * ISO strings. Ids are time-ordered opaque strings, never reused.
 */

/** `python` is an alias of `pythonfaas`, stored and returned as sent. */
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
] as const;
export type Permission = (typeof permissions)[number];

export interface Workspace {
  id: string;
  name: string;
  createdAt: number;
}

export interface Member {
  id: string;
  workspaceId: string;
  name: string;
  email: string;
  /** `admin` with `editTransformations` is the legacy role that holds the five of the specification. */
  role: "admin" | "member";
  editTransformations: boolean;
  permissions: Permission[];
  createdAt: number;
  updatedAt: number;
}

/** A token as it may be shown: the secret is known to its holder alone. */
export interface Token {
  id: string;
  workspaceId: string;
  name: string;
  /** Those of now: a personal token's follow its member. */
  permissions: Permission[];
  /** Set on a personal token: it has what this member has at the time of each request. */
  memberId?: string;
  expiresAt?: number;
  lastUsedAt?: number;
  createdAt: number;
}

/** Who a request comes from. */
export interface Principal {
  workspaceId: string;
  tokenId: string;
  /** Of a personal token. */
  memberId?: string;
  permissions: ReadonlySet<Permission>;
  /** When its token, or its session, stops working. */
  expiresAt?: number;
}

/** Who made a revision: a token, and the member behind it when it is a personal one. */
export type Maker = Pick<Principal, "tokenId" | "memberId">;

export interface Source {
  id: string;
  workspaceId: string;
  name: string;
  type: "http";
  /** How its creator wrote the type, where that differs: `HTTP`. */
  typeAs?: string;
  writeKey: string;
  enabled: boolean;
  config: Record<string, unknown>;
  /** Settings that RudderStack's clients keep at a source; they mean nothing here. */
  geoEnrichmentEnabled?: boolean;
  transient?: boolean;
  externalId?: string;
  createdAt: number;
  updatedAt: number;
}

export interface Destination {
  id: string;
  workspaceId: string;
  name: string;
  /** A kind of `destinations/`: `webhook` or `file`. */
  type: string;
  /** How its creator wrote the type, where that differs: `WEBHOOK`. */
  typeAs?: string;
  enabled: boolean;
  config: Record<string, unknown>;
  externalId?: string;
  createdAt: number;
  updatedAt: number;
}

/** Next sequence number to read, per event log directory. Opaque to the catalog. */
export type Positions = Readonly<Record<string, number>>;

/** source → destination. */
export interface Connection {
  id: string;
  workspaceId: string;
  sourceId: string;
  destinationId: string;
  enabled: boolean;
  externalId?: string;
  /** Events from these positions on are routed; set when the connection starts to be live. */
  from: Positions;
  /** Events before these positions are still owed; set when it stops to be live, else absent. */
  until?: Positions;
  /** Live windows before a pause, oldest first; their events are still owed. */
  earlier?: readonly { from: Positions; until: Positions }[];
  createdAt: number;
  updatedAt: number;
}

export interface Credential {
  id: string;
  workspaceId: string;
  /** `[A-Za-z_][A-Za-z0-9_]*` */
  name: string;
  createdAt: number;
  updatedAt: number;
}

export type Kind = "transformation" | "library";

/** One immutable version of a transformation's or a library's code. Never deleted. */
export interface Revision {
  kind: Kind;
  /** The transformation's or library's id. */
  id: string;
  versionId: string;
  workspaceId: string;
  name: string;
  description: string;
  code: string;
  language: Language;
  /** Libraries only: lodash `camelCase(name)`. */
  importName?: string;
  /** What the code imports as far as it shows without a guest; older revisions have none. */
  imports?: string[];
  /** Absent in older revisions, and in those that the server made itself. */
  createdBy?: Maker;
  createdAt: number;
}

/** A transformation or library: its mutable part. Its name and code are those of a revision. */
export interface Resource {
  kind: Kind;
  id: string;
  workspaceId: string;
  language: Language;
  createdAt: number;
  /** versionId of the newest revision. */
  newest: string;
  /** versionId of the published revision; absent for a draft or a deleted resource. */
  published?: string;
  deleted: boolean;
  externalId?: string;
}

/** What is known of a revision beside its code. */
export interface Past {
  /** What its code imports, as it was published; absent when it never was. */
  imports?: string[];
  /** Events that came with it, to test it with; as many as are kept. */
  events?: Record<string, unknown>[];
}

/** What makes a published revision live: written by publishing, read by lanes. */
export interface Publication {
  versionId: string;
  /** importNames the code imports, in code order (Python: every module name). */
  imports: string[];
}
