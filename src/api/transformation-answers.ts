import { type Static, Type } from "@sinclair/typebox";
import type { Catalog, Found } from "../catalog/catalog.ts";
import { importsOf } from "../catalog/code/imports.ts";
import type { Revision } from "../catalog/model.ts";
import type { Stored } from "../publishing/publishing.ts";
import type { ApiParts } from "./parts.ts";
import { Id, Language, Time } from "./schema/pieces.ts";

/** The parts that answers are made with. */
type Shown = Pick<ApiParts, "catalog" | "python">;

/**
 * The answers of the Transformations API: their schemas, and how they are made from the catalog.
 */

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Warnings of a publish that succeeded. */
export const Warnings = Type.Optional(
  Type.Array(Type.String(), { description: "What a publish was done in spite of" }),
);

const revisionFields = {
  id: Id,
  versionId: Type.String({ description: "A new one with every update" }),
  name: Type.String(),
  description: Type.String(),
  code: Type.String(),
  language: Language,
  createdAt: Time,
  updatedAt: Time,
  workspaceId: Type.String(),
  imports: Type.Array(Type.String(), { description: "What the code imports, in code order" }),
  isPublished: Type.Boolean({ description: "Whether this revision is the live one" }),
  createdBy: Type.Optional(
    Type.String({ description: "Id of the member, or of the service token, that made it" }),
  ),
  createdWith: Type.Optional(Type.String({ description: "Id of the token that made it" })),
  externalId: Type.Optional(Type.String({ description: "Set by PUT …/external-id" })),
};

export const LinkedDestination = Type.Object(
  { id: Type.String(), name: Type.String(), enabled: Type.Boolean() },
  { $id: "LinkedDestination" },
);

export const TransformationVersion = Type.Object(
  { ...revisionFields, codeVersion: Type.Literal("1") },
  { $id: "TransformationVersion" },
);

export const Transformation = Type.Object(
  {
    ...TransformationVersion.properties,
    destinations: Type.Optional(Type.Array(LinkedDestination)),
    warnings: Warnings,
  },
  { $id: "Transformation" },
);

export const LibraryVersion = Type.Object(
  { ...revisionFields, importName: Type.String() },
  { $id: "LibraryVersion" },
);

export const Library = Type.Object(
  {
    ...revisionFields,
    importName: Type.String({ description: "lodash camelCase of the name" }),
    workspace: Type.Object({ id: Type.String(), name: Type.String() }),
    warnings: Warnings,
  },
  { $id: "Library" },
);

/** A resource that was just published may have warnings. */
type Warned = Partial<Pick<Stored, "warnings">>;

function warned({ warnings = [] }: Warned): Warned {
  return warnings.length > 0 ? { warnings } : {};
}

/**
 * A transformation as it is at the moment: `createdAt` is the resource's, `updatedAt` that of its
 * newest revision.
 */
export function transformationAnswer(
  parts: Shown,
  found: Found & Warned,
  options: { destinations: boolean },
): Static<typeof Transformation> {
  const { resource, revision } = found;
  const { catalog } = parts;
  return {
    ...transformationVersionAnswer(parts, revision),
    ...resourceTimes(catalog, found),
    ...(options.destinations && {
      destinations: catalog.code
        .linked(resource.workspaceId, resource.id)
        .map(({ id, name, enabled }) => ({ id, name, enabled })),
    }),
    ...warned(found),
  };
}

export function transformationVersionAnswer(
  parts: Shown,
  revision: Revision,
): Static<typeof TransformationVersion> {
  return { ...revisionAnswer(parts, revision), codeVersion: "1" };
}

export function libraryAnswer(parts: Shown, found: Found & Warned): Static<typeof Library> {
  const { resource, revision } = found;
  const { catalog } = parts;
  const workspace = catalog.workspaces.get(resource.workspaceId);
  return {
    ...revisionAnswer(parts, revision),
    ...resourceTimes(catalog, found),
    importName: revision.importName ?? "",
    workspace: { id: resource.workspaceId, name: workspace?.name ?? "" },
    ...warned(found),
  };
}

export function libraryVersionAnswer(
  parts: Shown,
  revision: Revision,
): Static<typeof LibraryVersion> {
  return { ...revisionAnswer(parts, revision), importName: revision.importName ?? "" };
}

function revisionAnswer({ catalog, python }: Shown, revision: Revision) {
  const { id, versionId, name, description, code, language, workspaceId, kind } = revision;
  const resource = catalog.code.resource(workspaceId, kind, id);
  const { externalId } = resource;
  const isPublished = resource.published === versionId;
  const published = isPublished ? catalog.code.publication(resource)?.imports : undefined;
  const createdAt = isoTime(revision.createdAt);
  return {
    id,
    versionId,
    name,
    description,
    code,
    language: language === "pythonfaas" ? python : language,
    createdAt,
    updatedAt: createdAt,
    workspaceId,
    imports: published ?? revision.imports ?? importsOf(language, code),
    isPublished,
    ...madeBy(revision),
    ...(externalId !== undefined && { externalId }),
  };
}

function madeBy({ createdBy }: Revision) {
  if (createdBy === undefined) return {};
  const { tokenId, memberId } = createdBy;
  return { createdBy: memberId ?? tokenId, createdWith: tokenId };
}

function resourceTimes(catalog: Catalog, { resource, revision }: Found) {
  const { workspaceId, kind, id, newest } = resource;
  const latest =
    newest === revision.versionId ? revision : catalog.code.revision(workspaceId, kind, id, newest);
  return { createdAt: isoTime(resource.createdAt), updatedAt: isoTime(latest.createdAt) };
}
