import type { Positions } from "../log/positions.ts";

/**
 * Records of the catalog. Times are milliseconds since the Unix epoch, which `api/` formats as ISO
 * strings. Ids are opaque strings, ordered by time and never reused.
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

/** Fields of everything that belongs to one workspace. */
interface WorkspaceItem {
  id: string;
  workspaceId: string;
  createdAt: number;
}

/** Fields of an item that can change after it was created. */
interface ChangeableItem extends WorkspaceItem {
  updatedAt: number;
}

/** Fields of an item that can be disabled, and that external tools may know by an id of their own. */
interface ManagedItem extends ChangeableItem {
  enabled: boolean;
  externalId?: string;
}

export interface Member extends ChangeableItem {
  name: string;
  email: string;
  /**
   * `admin` with `editTransformations` is a legacy role, which holds all five permissions for
   * transformations and libraries.
   */
  role: "admin" | "member";
  editTransformations: boolean;
  permissions: Permission[];
}

/** A token without its secret, which only its holder knows. */
export interface Token extends WorkspaceItem {
  name: string;
  /** A service token's permissions, or those that a personal token's member has at this time. */
  permissions: Permission[];
  /** Set on a personal token, which permits what this member may do at the time of each request. */
  memberId?: string;
  expiresAt?: number;
  lastUsedAt?: number;
}

/** The authenticated caller of a request. */
export interface Principal {
  workspaceId: string;
  tokenId: string;
  /** Set for a personal token. */
  memberId?: string;
  permissions: ReadonlySet<Permission>;
  /** When the caller's token, or session, stops working. */
  expiresAt?: number;
}

/** The author of a revision: a token, and the member when the token is a personal one. */
export type Author = Pick<Principal, "tokenId" | "memberId">;

export interface Source extends ManagedItem {
  name: string;
  type: "http";
  /** The type in the creator's own spelling, where that differs: `HTTP`. */
  typeAs?: string;
  writeKey: string;
  config: Record<string, unknown>;
  /** Settings that RudderStack's clients keep at a source; pixelmill only stores them. */
  geoEnrichmentEnabled?: boolean;
  transient?: boolean;
}

export interface Destination extends ManagedItem {
  name: string;
  /** The name of a kind of `destinations/`, such as `webhook` or `file`. */
  type: string;
  /** The type in the creator's own spelling, where that differs: `WEBHOOK`. */
  typeAs?: string;
  config: Record<string, unknown>;
}

/** A source's connection to a destination. */
export interface Connection extends ManagedItem {
  sourceId: string;
  destinationId: string;
  /** Events from these positions on are routed; set when the connection starts to be live. */
  from: Positions;
  /**
   * Events before these positions are still owed. Set when the connection stops being live, else
   * absent.
   */
  until?: Positions;
  /** Earlier live windows, oldest first, from before each pause; their events are still owed. */
  earlier?: readonly { from: Positions; until: Positions }[];
}

export interface Credential extends ChangeableItem {
  /** `[A-Za-z_][A-Za-z0-9_]*` */
  name: string;
}

export type CodeKind = "transformation" | "library";

/**
 * One immutable version of a transformation's or a library's code. Never deleted. `id` is the
 * transformation's or the library's.
 */
export interface Revision extends WorkspaceItem {
  kind: CodeKind;
  versionId: string;
  name: string;
  description: string;
  code: string;
  language: Language;
  /** Libraries only: lodash `camelCase(name)`. */
  importName?: string;
  /** Imports found without a guest; absent in revisions of earlier versions. */
  imports?: string[];
  /** Absent in revisions of earlier versions, and in those that the server made itself. */
  createdBy?: Author;
}

/** The mutable part of a transformation or library. Name and code belong to its revisions. */
export interface Resource extends WorkspaceItem {
  kind: CodeKind;
  language: Language;
  /** versionId of the newest revision. */
  newest: string;
  /** versionId of the published revision; absent for a draft or a deleted resource. */
  published?: string;
  deleted: boolean;
  externalId?: string;
}

/** Facts about a revision that are learned after it was stored. */
export interface RevisionHistory {
  /**
   * The code's imports, as a guest read them when the code was published; absent when it never was.
   */
  imports?: string[];
  /** Test events that came with the revision; the first ones, as many as are kept. */
  events?: Record<string, unknown>[];
}

/** The published version of a resource: written by publishing, read by lanes. */
export interface Publication {
  versionId: string;
  /** The import names in the code, in code order; for Python every module name. */
  imports: string[];
}

/** A page of a list, and the number of items of the whole list. */
export interface CatalogPage<T> {
  items: T[];
  total: number;
}
