import type {
  Author,
  CodeKind,
  Destination,
  Language,
  Publication,
  Resource,
  Revision,
} from "../model.ts";
import type { RevisionHistory } from "../tables/revision-history.ts";

/**
 * A transformation or library together with one of its revisions, which are the versions of its
 * code.
 */
export interface ResourceRevision {
  resource: Resource;
  revision: Revision;
}

/**
 * Storage of transformations and libraries (both called resources): their revisions, their
 * published versions, and the links of destinations to transformations.
 */
export interface CodeStore {
  /**
   * Returns a transformation or library with its newest revision, published or not. Throws
   * `missing` when it was deleted.
   */
  newestRevision(workspaceId: string, kind: CodeKind, id: string): ResourceRevision;
  /**
   * Returns a transformation or library with its published revision. Throws `missing` when it is a
   * draft or was deleted.
   */
  publishedRevision(workspaceId: string, kind: CodeKind, id: string): ResourceRevision;
  /**
   * Yields all published transformations or libraries in the order of creation. Each is read from
   * the store only when the caller asks for it.
   */
  listPublished(workspaceId: string, kind: CodeKind): Generator<ResourceRevision>;
  /**
   * Yields all drafts (neither published nor deleted) with their newest revisions, in the order of
   * creation. Each draft is read only when the caller asks for it.
   */
  listDrafts(workspaceId: string, kind: CodeKind): Generator<ResourceRevision>;
  revision(workspaceId: string, kind: CodeKind, id: string, versionId: string): Revision;
  /**
   * Returns a revision by its versionId, even if its transformation or library was deleted. Throws
   * `missing` when it belongs to the other kind of code.
   */
  revisionByVersion(workspaceId: string, kind: CodeKind, versionId: string): Revision;
  /**
   * Returns a revision of any workspace by its versionId, for servers that name no workspace.
   * Undefined when it was never published.
   */
  everPublished(kind: CodeKind, versionId: string): Revision | undefined;
  /**
   * Yields the revisions of a transformation or library, also of a draft or a deleted one. Each
   * revision is read from the store only when the caller asks for it.
   */
  revisions(
    workspaceId: string,
    kind: CodeKind,
    id: string,
    options: { count: number; order: "asc" | "desc" },
  ): Generator<Revision>;
  resource(workspaceId: string, kind: CodeKind, id: string): Resource;
  publication(resource: Resource): Publication | undefined;
  history(revision: Revision): RevisionHistory;

  /**
   * Creates the first revision of a new transformation or library in memory. `commit` stores it.
   */
  draft(workspaceId: string, kind: CodeKind, input: RevisionInput): Revision;
  revise(workspaceId: string, kind: CodeKind, id: string, input: Partial<RevisionInput>): Revision;
  /**
   * Stores revisions, publishes versions and links destinations in one transaction. Keeps two
   * rules: a published library's import name is unique in its language, and a destination has at
   * most one transformation. Rejects with `PublicationConflict` when published code changed since
   * the change was tested. To detect this, `usedLibraries` must name the published versions of all
   * libraries that the code uses, and `testedImporters` all published code that imports a library
   * in `publish`. Resolves with the result of `answer`, which runs inside the transaction and reads
   * the new state.
   */
  commit<T = void>(workspaceId: string, change: CodeChange, answer?: () => T): Promise<T>;
  /**
   * Throws the error that `commit` would throw when a transformation or library in `basedOn` was
   * deleted or has a newer revision.
   */
  expectNewest(workspaceId: string, change: Pick<CodeChange, "basedOn">): void;

  /**
   * Links a destination to a transformation. Resolves with the result of `answer`, which runs
   * inside the transaction and reads the new state. If `answer` throws, nothing is changed.
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
  /** Removes the link of a destination to its transformation, if it has one. */
  clearLink(workspaceId: string, destinationId: string): Promise<void>;
  /** Returns the destinations that are linked to a transformation, in the order of linking. */
  linkedDestinations(workspaceId: string, transformationId: string): Destination[];
  /**
   * Returns the id of the transformation that a destination is linked to. Undefined when there is
   * none, or when the destination is unknown.
   */
  linkedTransformation(workspaceId: string, destinationId: string): string | undefined;
  /**
   * Returns the time at which a destination was linked to its transformation, in milliseconds since
   * the Unix epoch. Undefined when the destination has no link.
   */
  linkedAt(workspaceId: string, destinationId: string): number | undefined;

  /**
   * Marks a transformation or library as deleted, and removes its publication and its links.
   * Rejects with `conflict` for a library that published code imports.
   */
  remove(workspaceId: string, kind: CodeKind, id: string): Promise<void>;
  /** Resolves with the result of `answer`, which reads the new state inside the transaction. */
  setExternalId<T = void>(
    workspaceId: string,
    kind: CodeKind,
    id: string,
    externalId: string,
    answer?: () => T,
  ): Promise<T>;

  /**
   * Returns the published library with this import name and language; undefined when there is none.
   */
  libraryByImportName(
    workspaceId: string,
    language: Language,
    importName: string,
  ): Revision | undefined;
  /** Returns the published transformations and libraries that import this name in this language. */
  importers(workspaceId: string, language: Language, importName: string): ResourceRevision[];
}
export interface RevisionInput {
  name: string;
  description?: string;
  code: string;
  language: Language;
  createdBy?: Author;
}
export interface CodeChange {
  revisions: Revision[];
  /**
   * Revisions on which the revisions in `revisions` are based. Each must still be the newest
   * revision of its transformation or library.
   */
  basedOn?: { kind: CodeKind; id: string; versionId: string }[];
  publish: { kind: CodeKind; id: string; versionId: string; imports: string[] }[];
  links: { transformationId: string; destinationId: string }[];
  /** Published library versions that the tests ran with, each with its import name and language. */
  usedLibraries: { importName: string; language: Language; versionId: string }[];
  /**
   * Published code that imports a library in `publish` and was tested with the library's new
   * version.
   */
  testedImporters?: { versionId: string }[];
  /**
   * Test events to store with revisions. Only the first events of each revision are stored, up to a
   * number of bytes.
   */
  events?: { versionId: string; events: Record<string, unknown>[] }[];
  /** Why the change is made. It stays with the revisions that are stored or published. */
  note?: string;
  externalIds?: { kind: CodeKind; id: string; externalId: string }[];
}
