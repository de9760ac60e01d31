import type { Catalog } from "../catalog/catalog.ts";
import type { CodeKind, Language } from "../catalog/model.ts";
import { rudderstackLibraries } from "../sandbox/rudderstack-libraries/rudderstack-libraries.ts";

/** A version of a transformation or library as rudder-transformer reads it. */
interface CodeAnswer {
  id: string;
  versionId: string;
  workspaceId: string;
  name: string;
  description: string;
  code: string;
  codeVersion: "1";
  language: string;
  imports: string[];
  /** Name by which a library is imported, twice: rudder-transformer has called it both. */
  importName?: string;
  handleName?: string;
  createdAt: string;
  updatedAt: string;
}

/**
 * Returns a transformation or library as rudder-transformer fetches it from its control plane;
 * undefined when no such version was ever published.
 */
export function codeAnswer(
  { code }: Catalog,
  kind: CodeKind,
  versionId: string,
): CodeAnswer | undefined {
  const revision = code.everPublished(kind, versionId);
  if (revision === undefined) return undefined;
  const { id, workspaceId, name, description, importName } = revision;
  const createdAt = new Date(revision.createdAt).toISOString();
  return {
    id,
    versionId,
    workspaceId,
    name,
    description,
    code: revision.code,
    codeVersion: "1" as const,
    language: dataPlaneLanguage(revision.language),
    imports: code.history(revision).imports ?? [],
    ...(importName !== undefined && { importName, handleName: importName }),
    createdAt,
    updatedAt: createdAt,
  };
}

/** Returns the name of a language in RudderStack's data plane. */
export function dataPlaneLanguage(language: Language): string {
  return language === "javascript" ? language : "pythonfaas";
}

/** Returns the library `@rs/{name}/{version}`; undefined when there is none. */
export function rudderstackLibraryAnswer(name: string, version: string | undefined) {
  const found = rudderstackLibraries.find((it) => it.importName === `@rs/${name}/${version}`);
  return found && { name, importName: found.importName, code: found.code };
}
