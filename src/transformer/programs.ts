import { createHash } from "node:crypto";
import type { Catalog } from "../catalog/catalog.ts";
import { type ImportedLibrary, librariesFor } from "../catalog/code/closure.ts";
import { familyOf } from "../catalog/import-name.ts";
import type { CodeKind, Revision } from "../catalog/model.ts";
import { unlessMissing } from "../errors.ts";
import { programOf } from "../publishing/guest-program.ts";
import type { Program } from "../sandbox/program.ts";

/**
 * Request of a rudder-server for a program, which consists of a transformation and its libraries.
 * `versionId` is the version of the transformation.
 */
export interface ProgramRequest {
  workspaceId: string;
  versionId: string;
  /**
   * Versions of libraries that the program uses instead of the published ones. rudder-server sends
   * one version of each library in its workspace: the one that it last received.
   */
  libraryVersionIds: readonly string[];
  /**
   * Credentials that the program gets in addition to those of the workspace. If a name occurs in
   * both, the credential in this field is used.
   */
  credentials: Readonly<Record<string, string>>;
}

/**
 * Maximum number of versions of code in the cache of `Programs`. Beyond it, the version that was
 * added first is removed.
 */
const REVISIONS_KEPT_MAX = 1_024;

/**
 * Finds programs by the version of their transformation. That version may be older than the
 * published one: rudder-server requests the version that it knows until it has received a newer
 * one.
 */
export class Programs {
  /**
   * Cache of code by workspace, kind and version. Entries never become out of date: the code of a
   * version never changes, and a published version stays available.
   */
  readonly #known = new Map<string, ImportedLibrary>();

  constructor(private readonly catalog: Catalog) {}

  /**
   * Returns the requested program; undefined when its version was never published in the workspace.
   * Rejects with an `unavailable` error when this node cannot find out whether another node has
   * published that version.
   */
  async find(request: ProgramRequest): Promise<Program | undefined> {
    const { workspaceId, versionId } = request;
    let main = this.#published(workspaceId, "transformation", versionId);
    if (main === undefined) {
      // Another node of the cluster may have published the version a moment ago.
      await this.catalog.current();
      main = this.#published(workspaceId, "transformation", versionId);
    }
    return main && this.#programOf(main, request);
  }

  #programOf(main: ImportedLibrary, request: ProgramRequest): Program {
    const { revision, imports } = main;
    const libraries = librariesFor(imports, this.#libraryFinder(revision, request));
    const { workspaceId } = revision;
    const credentials = Object.fromEntries([
      ...Object.entries(this.catalog.live.credentials(workspaceId)),
      ...Object.entries(request.credentials),
    ]);
    const versions = [revision, ...libraries].map(({ versionId }) => versionId);
    const id = [...versions, digestOf(credentials)].join("+");
    return programOf({ id, workspaceId, transformation: revision, libraries, credentials });
  }

  #libraryFinder(main: Revision, { workspaceId, libraryVersionIds }: ProgramRequest) {
    const family = familyOf(main.language);
    let named: Map<string | undefined, ImportedLibrary> | undefined;
    return (importName: string): ImportedLibrary | undefined => {
      named ??= new Map(
        libraryVersionIds
          .flatMap((versionId) => this.#published(workspaceId, "library", versionId) ?? [])
          .filter(({ revision }) => familyOf(revision.language) === family)
          .map((library) => [library.revision.importName, library]),
      );
      return named.get(importName) ?? this.#publishedNow(main, importName);
    };
  }

  /** Returns the published version of the library that code imports as `importName`. */
  #publishedNow({ workspaceId, language }: Revision, importName: string) {
    const found = this.catalog.code.libraryByImportName(workspaceId, language, importName);
    return found && this.#published(workspaceId, "library", found.versionId);
  }

  #published(workspaceId: string, kind: CodeKind, versionId: string): ImportedLibrary | undefined {
    const key = `${workspaceId} ${kind} ${versionId}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const { code } = this.catalog;
    const revision = unlessMissing(() => code.revisionByVersion(workspaceId, kind, versionId));
    const imports = revision && code.history(revision).imports;
    if (revision === undefined || imports === undefined) return undefined;
    const found = { revision, imports };
    this.#known.set(key, found);
    if (this.#known.size > REVISIONS_KEPT_MAX) this.#known.delete(this.#known.keys().next().value!);
    return found;
  }
}

/**
 * Returns a digest of credentials for the program's id, because programs with different credentials
 * must have different ids.
 */
function digestOf(credentials: Record<string, string>): string {
  const sorted = Object.entries(credentials).sort(([a], [b]) => (a < b ? -1 : 1));
  if (sorted.length === 0) return "0";
  return createHash("sha256").update(JSON.stringify(sorted)).digest("base64url");
}
