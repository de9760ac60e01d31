import type { Positions } from "../log/positions.ts";
import type {
  Connection,
  Credential,
  Destination,
  Kind,
  Language,
  Maker,
  Member,
  Past,
  Permission,
  Principal,
  Publication,
  Resource,
  Revision,
  Source,
  Token,
  Workspace,
} from "./model.ts";

/**
 * The catalog: rules and management data in LMDB. Each verb is one atomic transaction, durable when
 * its promise resolves. Reads are synchronous and see the newest committed state.
 *
 * Verbs refuse with `ApiError` (`missing` for an unknown id or an id of another workspace,
 * `conflict`, `invalid`). Every verb takes the workspace first, and no verb reaches another
 * workspace. Several processes may open the same catalog; each sees the others' commits.
 */
export interface Catalog {
  workspaces: Workspaces;
  members: Members;
  tokens: Tokens;
  sessions: Sessions;
  credentials: Credentials;
  sources: Sources;
  destinations: Destinations;
  connections: Connections;
  code: CodeStore;
  live: Live;
  /**
   * Resolves once reads see every change that was answered before the call, on whichever node.
   * Rejects as `unavailable` when that cannot be known.
   */
  current(): Promise<void>;
  /** Why changes are not stored at the moment, as a sentence; undefined while they are. */
  trouble(): string | undefined;
  /** Writes what is pending (uses of tokens), and closes. */
  close(): Promise<void>;
}

export interface Page<T> {
  items: T[];
  total: number;
}

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
  list(workspaceId: string, page: number): Page<Member>;
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
  list(workspaceId: string, page: number): Page<Token>;
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
  list(workspaceId: string, page: number): Page<Credential>;
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
  list(workspaceId: string, page: number, marked?: boolean): Page<Source>;
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
  list(workspaceId: string, page: number, marked?: boolean): Page<Destination>;
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
  list(workspaceId: string, page: number, marked?: boolean): Page<Connection>;
}
export interface ConnectionInput {
  sourceId: string;
  destinationId: string;
  enabled?: boolean;
  /** An empty external id takes the connection's away. */
  externalId?: string;
}

/** A resource, with the revision that the caller asked for. */
export interface Found {
  resource: Resource;
  revision: Revision;
}

/** Transformations and libraries: resources, revisions, publications, links. */
export interface CodeStore {
  /** Newest revision of an undeleted resource, published or not. */
  newest(workspaceId: string, kind: Kind, id: string): Found;
  /** The published revision; `missing` for a draft or a deleted resource. */
  published(workspaceId: string, kind: Kind, id: string): Found;
  /**
   * Every published resource, ordered by creation; each is read when the caller asks for the next.
   */
  listPublished(workspaceId: string, kind: Kind): Generator<Found>;
  /**
   * Every resource that is neither published nor deleted, with its newest revision; ordered and
   * read as in `listPublished`.
   */
  listDrafts(workspaceId: string, kind: Kind): Generator<Found>;
  revision(workspaceId: string, kind: Kind, id: string, versionId: string): Revision;
  /**
   * A revision by its versionId alone, also of a deleted resource; `missing` when its resource is
   * of another kind.
   */
  revisionByVersion(workspaceId: string, kind: Kind, versionId: string): Revision;
  /**
   * Revisions of a resource, also of a draft or a deleted one; each is read when the caller asks
   * for the next.
   */
  revisions(
    workspaceId: string,
    kind: Kind,
    id: string,
    options: { count: number; order: "asc" | "desc" },
  ): Generator<Revision>;
  resource(workspaceId: string, kind: Kind, id: string): Resource;
  publication(resource: Resource): Publication | undefined;
  past(revision: Revision): Past;

  /** Makes a revision in memory; nothing is stored before `commit`. */
  draft(workspaceId: string, kind: Kind, input: RevisionInput): Revision;
  amend(workspaceId: string, kind: Kind, id: string, input: Partial<RevisionInput>): Revision;
  /**
   * Stores revisions, publishes versions and links destinations, all or nothing.
   * Keeps two rules: one published library per importName and language; one transformation per
   * destination.
   * What is committed must be what was checked:
   * - the versions in `seen` are still the published ones, and all that the published code uses;
   * - `tested` names every importer of a library in `publish`.
   * Otherwise rejects with `Stale`, a `conflict` with `stale: true`.
   */
  commit(workspaceId: string, change: CodeChange): Promise<void>;
  /** Throws what `commit` throws when others deleted or revised what the change amends. */
  expectNewest(workspaceId: string, change: Pick<CodeChange, "amends">): void;

  /**
   * Resolves with what `answer` reads as long as nobody has changed anything since; when it throws,
   * nothing is changed. So with `unlink`.
   */
  link<T = void>(
    workspaceId: string,
    transformationId: string,
    destinationId: string,
    answer?: () => T,
  ): Promise<T>;
  unlink<T = void>(
    workspaceId: string,
    transformationId: string,
    destinationId: string,
    answer?: () => T,
  ): Promise<T>;
  /** Takes the link of a destination away, whichever it has. */
  clear(workspaceId: string, destinationId: string): Promise<void>;
  /** Destinations linked to a transformation, in the order of linking. */
  linked(workspaceId: string, transformationId: string): Destination[];
  /** Undefined also where there is no such destination. */
  linkOf(workspaceId: string, destinationId: string): string | undefined;
  /** When a destination was linked to its transformation. */
  linkedAt(workspaceId: string, destinationId: string): number | undefined;

  /** Unlinks, unpublishes, marks deleted. `conflict` for a library that a published transformation imports. */
  remove(workspaceId: string, kind: Kind, id: string): Promise<void>;
  setExternalId(workspaceId: string, kind: Kind, id: string, externalId: string): Promise<void>;

  /** The published library with this import name; undefined when there is none. */
  libraryByImportName(
    workspaceId: string,
    language: Language,
    importName: string,
  ): Revision | undefined;
  /** Published transformations and libraries that import this name in this language. */
  importers(workspaceId: string, language: Language, importName: string): Found[];
}
export interface RevisionInput {
  name: string;
  description?: string;
  code: string;
  language: Language;
  createdBy?: Maker;
}
export interface CodeChange {
  revisions: Revision[];
  /** What has to be the newest revision of the things that `revisions` are of: they amend it. */
  amends?: { kind: Kind; id: string; versionId: string }[];
  publish: { kind: Kind; id: string; versionId: string; imports: string[] }[];
  links: { transformationId: string; destinationId: string }[];
  /** Published libraries that the check used: importName, language → versionId. */
  seen: { importName: string; language: Language; versionId: string }[];
  /** Published importers of the libraries in `publish` that were tested with them. */
  tested?: { versionId: string }[];
  /** Test events of revisions; the first ones of each are kept. */
  events?: { versionId: string; events: Record<string, unknown>[] }[];
  externalIds?: { kind: Kind; id: string; externalId: string }[];
}

/** What the data plane and the lanes read, in a few LMDB look-ups and no scan. */
export interface Live {
  /** The source of a write key, enabled or not. */
  source(writeKey: string): Source | undefined;
  sourceById(id: string): Source | undefined;
  /** A number that moves when sources, destinations or connections change. */
  topology(): number;
  /** Every destination that has a connection, with its connections; those of all workspaces. */
  lanes(): { destination: Destination; connections: Connection[] }[];
  destination(id: string): Destination | undefined;
  /**
   * The published code that is linked to a destination, with the published libraries that the code
   * imports and the workspace's credentials; undefined when there is no link. Returns the same
   * object as long as nothing changed.
   */
  program(destinationId: string): LiveProgram | undefined;
  /** Name → value of the workspace's credentials, for code that is tested. */
  credentials(workspaceId: string): Record<string, string>;
}
export interface LiveProgram {
  /** Another id for each change of any part of the code or the credentials. */
  id: string;
  workspaceId: string;
  transformation: Revision;
  libraries: Revision[];
  credentials: Record<string, string>;
}
