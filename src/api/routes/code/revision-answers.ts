import { type Static, Type } from "@sinclair/typebox";
import type { Catalog } from "../../../catalog/catalog.ts";
import type { ResourceRevision } from "../../../catalog/code/code-store.ts";
import { importsOf } from "../../../catalog/code/imports.ts";
import type { Revision } from "../../../catalog/model.ts";
import type { StoredCode } from "../../../publishing/publisher.ts";
import type { ApiDeps } from "../../deps.ts";
import { Id, isoTime, Language, Time } from "../../schema/common.ts";

/** Dependencies of the functions that build the responses. */
type AnswerDeps = Pick<ApiDeps, "catalog" | "python">;

/**
 * Schemas of transformations, libraries and their revisions, and the functions that build such
 * answers.
 */

/** Schema of the warnings in the response to a successful publish request. */
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

/**
 * Warnings from publishing a transformation or library. Absent unless this request has published
 * it.
 */
type PublishWarnings = Partial<Pick<StoredCode, "warnings">>;

function warningsAnswer({ warnings = [] }: PublishWarnings): PublishWarnings {
  return warnings.length > 0 ? { warnings } : {};
}

/**
 * Builds the response that describes a transformation. `createdAt` is the creation of the
 * transformation, and `updatedAt` the creation of its newest revision.
 */
export function transformationAnswer(
  deps: AnswerDeps,
  found: ResourceRevision & PublishWarnings,
  options: { destinations: boolean },
): Static<typeof Transformation> {
  const { resource, revision } = found;
  const { catalog } = deps;
  return {
    ...transformationVersionAnswer(deps, revision),
    ...resourceTimes(catalog, found),
    ...(options.destinations && {
      destinations: catalog.code
        .linkedDestinations(resource.workspaceId, resource.id)
        .map(({ id, name, enabled }) => ({ id, name, enabled })),
    }),
    ...warningsAnswer(found),
  };
}

export function transformationVersionAnswer(
  deps: AnswerDeps,
  revision: Revision,
): Static<typeof TransformationVersion> {
  return { ...revisionAnswer(deps, revision), codeVersion: "1" };
}

export function libraryAnswer(
  deps: AnswerDeps,
  found: ResourceRevision & PublishWarnings,
): Static<typeof Library> {
  const { resource, revision } = found;
  const { catalog } = deps;
  const workspace = catalog.workspaces.get(resource.workspaceId);
  return {
    ...revisionAnswer(deps, revision),
    ...resourceTimes(catalog, found),
    importName: revision.importName ?? "",
    workspace: { id: resource.workspaceId, name: workspace?.name ?? "" },
    ...warningsAnswer(found),
  };
}

export function libraryVersionAnswer(
  deps: AnswerDeps,
  revision: Revision,
): Static<typeof LibraryVersion> {
  return { ...revisionAnswer(deps, revision), importName: revision.importName ?? "" };
}

function revisionAnswer({ catalog, python }: AnswerDeps, revision: Revision) {
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
    ...authorAnswer(revision),
    ...(externalId !== undefined && { externalId }),
  };
}

function authorAnswer({ createdBy }: Revision) {
  if (createdBy === undefined) return {};
  const { tokenId, memberId } = createdBy;
  return { createdBy: memberId ?? tokenId, createdWith: tokenId };
}

function resourceTimes(catalog: Catalog, { resource, revision }: ResourceRevision) {
  const { workspaceId, kind, id, newest } = resource;
  const latest =
    newest === revision.versionId ? revision : catalog.code.revision(workspaceId, kind, id, newest);
  return { createdAt: isoTime(resource.createdAt), updatedAt: isoTime(latest.createdAt) };
}
