import type { CodeKind, Language, Resource, Revision } from "../model.ts";

/** A transformation or library with one of its revisions (versions of its code). */
export interface ResourceRevision {
  resource: Resource;
  revision: Revision;
}

export interface RevisionInput
  extends Pick<Revision, "name" | "code" | "language" | "createdBy">,
    Partial<Pick<Revision, "description">> {}
export interface CodeChange {
  revisions: Revision[];
  /**
   * Revisions on which the new revisions in `revisions` are based. The change is refused unless
   * each is still the newest revision of its transformation or library.
   */
  basedOn?: { kind: CodeKind; id: string; versionId: string }[];
  publish: { kind: CodeKind; id: string; versionId: string; imports: string[] }[];
  links: { transformationId: string; destinationId: string }[];
  /** Published library versions that the tests used, each with its import name and language. */
  usedLibraries: { importName: string; language: Language; versionId: string }[];
  /**
   * Published code that imports a library listed in `publish`. The code was tested with the new
   * version of this library.
   */
  testedImporters?: { versionId: string }[];
  /**
   * Test events to store with each revision. A revision keeps as many of its first events as fit
   * into `TEST_EVENTS_KEPT_BYTES_MAX` bytes.
   */
  events?: { versionId: string; events: Record<string, unknown>[] }[];
  /** Reason for the change. It is stored with the revisions that the change stores or publishes. */
  note?: string;
  externalIds?: { kind: CodeKind; id: string; externalId: string }[];
}
