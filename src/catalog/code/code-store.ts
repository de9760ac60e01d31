import type {
  Author,
  CodeKind,
  Destination,
  Language,
  Publication,
  Resource,
  Revision,
  RevisionHistory,
} from "../model.ts";

/** A resource, with the revision that the caller asked for. */
export interface ResourceRevision {
  resource: Resource;
  revision: Revision;
}

/** Transformations and libraries: resources, revisions, publications, links. */
export interface CodeStore {
  /** Newest revision of an undeleted resource, published or not. */
  newestRevision(workspaceId: string, kind: CodeKind, id: string): ResourceRevision;
  /** The published revision; `missing` for a draft or a deleted resource. */
  publishedRevision(workspaceId: string, kind: CodeKind, id: string): ResourceRevision;
  /**
   * Every published resource, ordered by creation; each is read when the caller asks for the next.
   */
  listPublished(workspaceId: string, kind: CodeKind): Generator<ResourceRevision>;
  /**
   * Every resource that is neither published nor deleted, with its newest revision; ordered and
   * read as in `listPublished`.
   */
  listDrafts(workspaceId: string, kind: CodeKind): Generator<ResourceRevision>;
  revision(workspaceId: string, kind: CodeKind, id: string, versionId: string): Revision;
  /**
   * A revision by its versionId alone, also of a deleted resource; `missing` when its resource is
   * of another kind.
   */
  revisionByVersion(workspaceId: string, kind: CodeKind, versionId: string): Revision;
  /**
   * Revisions of a resource, also of a draft or a deleted one; each is read when the caller asks
   * for the next.
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

  /** Makes a revision in memory; nothing is stored before `commit`. */
  draft(workspaceId: string, kind: CodeKind, input: RevisionInput): Revision;
  revise(workspaceId: string, kind: CodeKind, id: string, input: Partial<RevisionInput>): Revision;
  /**
   * Stores revisions, publishes versions and links destinations, all or nothing. Keeps two rules:
   * one published library per importName and language; one transformation per destination. Rejects
   * with `PublicationConflict` when published code changed since it was tested: `usedLibraries`
   * must name the published versions of all libraries that the code uses, and `testedImporters`
   * every importer of a library in `publish`.
   */
  commit(workspaceId: string, change: CodeChange): Promise<void>;
  /**
   * Throws what `commit` throws when a resource in `basedOn` was deleted or has a newer revision.
   */
  expectNewest(workspaceId: string, change: Pick<CodeChange, "basedOn">): void;

  /**
   * Resolves with the result of `answer`, which reads the state right after the change. When
   * `answer` throws, nothing is changed.
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
  /** Removes the link of a destination, to whichever transformation. */
  clearLink(workspaceId: string, destinationId: string): Promise<void>;
  /** Destinations linked to a transformation, in the order of linking. */
  linkedDestinations(workspaceId: string, transformationId: string): Destination[];
  /**
   * Id of the transformation that a destination is linked to; undefined for an unknown destination.
   */
  linkedTransformation(workspaceId: string, destinationId: string): string | undefined;
  /** When a destination was linked to its transformation. */
  linkedAt(workspaceId: string, destinationId: string): number | undefined;

  /** Unlinks, unpublishes, marks deleted. `conflict` for a library that a published transformation imports. */
  remove(workspaceId: string, kind: CodeKind, id: string): Promise<void>;
  setExternalId(workspaceId: string, kind: CodeKind, id: string, externalId: string): Promise<void>;

  /** The published library with this import name; undefined when there is none. */
  libraryByImportName(
    workspaceId: string,
    language: Language,
    importName: string,
  ): Revision | undefined;
  /** Published transformations and libraries that import this name in this language. */
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
  /** Revisions that `revisions` were made from; each must still be the newest of its resource. */
  basedOn?: { kind: CodeKind; id: string; versionId: string }[];
  publish: { kind: CodeKind; id: string; versionId: string; imports: string[] }[];
  links: { transformationId: string; destinationId: string }[];
  /** Published libraries that the tests ran with: importName, language → versionId. */
  usedLibraries: { importName: string; language: Language; versionId: string }[];
  /** Published importers of the libraries in `publish` that were tested with them. */
  testedImporters?: { versionId: string }[];
  /** Test events of revisions; the first ones of each are kept. */
  events?: { versionId: string; events: Record<string, unknown>[] }[];
  externalIds?: { kind: CodeKind; id: string; externalId: string }[];
}
