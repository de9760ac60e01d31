import type { Catalog } from "../../catalog/catalog.ts";
import type { CodeKind, Language } from "../../catalog/model.ts";
import { rudderstackLibraries } from "../../sandbox/rudderstack-libraries/rudderstack-libraries.ts";

/**
 * Returns a transformation or library as rudder-transformer fetches it from its control plane;
 * undefined when no such version was ever published.
 */
export function codeAnswer(
  { code }: Catalog,
  kind: CodeKind,
  versionId: string,
): Record<string, unknown> | undefined {
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
    codeVersion: "1",
    language: dataPlaneName(revision.language),
    imports: code.history(revision).imports ?? [],
    ...(importName !== undefined && { importName, handleName: importName }),
    createdAt,
    updatedAt: createdAt,
  };
}

/** RudderStack's data plane has this name for Python. */
function dataPlaneName(language: Language): string {
  return language === "javascript" ? language : "pythonfaas";
}

/**
 * Returns the libraries with RudderStack's names as rudder-transformer fetches them, by the path and
 * the query of its request.
 */
export const rudderstackLibraryAnswers = rudderstackLibraries.map(({ importName, code }) => {
  const [, name = "", version = ""] = importName.split("/");
  const path = `/rudderstackTransformationLibraries/${name}`;
  return { path, version, answer: { name, importName, code } };
});
