import { type Static, Type } from "@sinclair/typebox";
import type { Catalog } from "../catalog/catalog.ts";
import type { CodeKind, Language } from "../catalog/model.ts";
import { rudderstackLibraries } from "../sandbox/rudderstack-libraries/rudderstack-libraries.ts";
import { component, text } from "../settings/schema-types.ts";

/** Schema of a version of a transformation or library as rudder-transformer reads it. */
export const StoredCode = component("StoredCode", {
  id: Type.String(),
  versionId: Type.String(),
  workspaceId: Type.String(),
  name: text("A library is imported by its name in camelCase"),
  description: Type.String(),
  code: Type.String(),
  codeVersion: Type.Literal("1"),
  language: text("javascript or pythonfaas"),
  imports: Type.Array(Type.String()),
  // The name by which code imports the library stands under both names that rudder-transformer has
  // used for it.
  importName: Type.Optional(text("Of a library alone")),
  handleName: Type.Optional(text("The same")),
  createdAt: Type.String(),
  updatedAt: Type.String(),
});

/**
 * Returns a version of a transformation or library in the format in which rudder-transformer
 * fetches it from its control plane. Returns undefined when this version was never published.
 */
export function codeAnswer(
  { code }: Catalog,
  kind: CodeKind,
  versionId: string,
): Static<typeof StoredCode> | undefined {
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

/** Returns the name that RudderStack's data plane uses for a language. */
export function dataPlaneLanguage(language: Language): string {
  return language === "javascript" ? language : "pythonfaas";
}

/** Returns the RudderStack library `@rs/{name}/{version}`; undefined when there is none. */
export function rudderstackLibraryAnswer(name: string, version: string | undefined) {
  const found = rudderstackLibraries.find((it) => it.importName === `@rs/${name}/${version}`);
  return found && { name, importName: found.importName, code: found.code };
}
