import { type Static, Type } from "@sinclair/typebox";
import type { Catalog } from "../../../catalog/catalog.ts";
import type { ResourceRevision } from "../../../catalog/code/code-changes.ts";
import { importsOf } from "../../../catalog/code/imports.ts";
import type { Revision } from "../../../catalog/model.ts";
import { defined } from "../../../defined.ts";
import type { StoredCode } from "../../../publishing/publisher.ts";
import { component, text } from "../../../settings/schema-types.ts";
import type { ApiDeps } from "../../deps.ts";
import { Id, isoTime, Language, Time } from "../../schema/common.ts";

/**
 * Objects that the functions in this file need to build answers about transformations and
 * libraries. `python` is the language name that answers give to Python code.
 */
export type CodeDeps = Pick<ApiDeps, "catalog" | "python">;

/**
 * This file has the schemas of transformations, libraries and their revisions in responses, and the
 * functions that build these.
 */

/** Schema of the field `warnings`: the problems in spite of which a publish request succeeded. */
export const Warnings = Type.Optional(
  Type.Array(Type.String(), { description: "What a publish was done in spite of" }),
);

const revisionFields = {
  id: Id,
  versionId: text("A new one with every update"),
  name: Type.String(),
  description: Type.String(),
  code: Type.String(),
  language: Language,
  createdAt: Time,
  updatedAt: Time,
  workspaceId: Type.String(),
  imports: Type.Array(Type.String(), { description: "What the code imports, in code order" }),
  isPublished: Type.Boolean({ description: "Whether this revision is the live one" }),
  wasPublished: Type.Boolean({ description: "Whether this revision is the live one, or once was" }),
  createdBy: Type.Optional(text("Id of the member, or of the service token, that made it")),
  createdWith: Type.Optional(text("Id of the token that made it")),
  externalId: Type.Optional(text("Set by PUT …/external-id")),
  note: Type.Optional(text("Why it was saved, or was last published; absent without one")),
};

const PublishedVersionId = Type.Optional(text("The revision that is live; absent when none is"));

export const LinkedDestination = component("LinkedDestination", {
  id: Type.String(),
  name: Type.String(),
  enabled: Type.Boolean(),
});

export const TransformationVersion = component("TransformationVersion", {
  ...revisionFields,
  codeVersion: Type.Literal("1"),
});

export const Transformation = component("Transformation", {
  ...TransformationVersion.properties,
  publishedVersionId: PublishedVersionId,
  destinations: Type.Optional(Type.Array(LinkedDestination)),
  warnings: Warnings,
});

/** Schema of a transformation in a list, with or without its code. */
export const ListedTransformation = component("ListedTransformation", {
  ...Transformation.properties,
  code: Type.Optional(Type.String()),
});

export const LibraryVersion = component("LibraryVersion", {
  ...revisionFields,
  importName: Type.String(),
});

export const Library = component("Library", {
  ...revisionFields,
  importName: text("lodash camelCase of the name"),
  publishedVersionId: PublishedVersionId,
  workspace: Type.Object({ id: Type.String(), name: Type.String() }),
  warnings: Warnings,
});

export const ListedLibrary = component("ListedLibrary", {
  ...Library.properties,
  code: Type.Optional(Type.String()),
});

/** Returns the destinations that are linked to a transformation, in the order of linking. */
export function linkedDestinations(
  { code }: Catalog,
  { workspaceId, id }: { workspaceId: string; id: string },
): Static<typeof LinkedDestination>[] {
  const linked = code.linkedDestinations(workspaceId, id);
  return linked.map(({ id, name, enabled }) => ({ id, name, enabled }));
}

/**
 * Returns `answer`, the answer about a transformation or library, as it appears in a list: without
 * its code if `hasCode` is false.
 */
export function listed<T extends { code: string }>(answer: T, hasCode: boolean) {
  const { code, ...rest } = answer;
  return hasCode ? answer : rest;
}

/**
 * Warnings that appeared when a request published a transformation or library. Absent if the
 * request published nothing.
 */
type PublishWarnings = Partial<Pick<StoredCode, "warnings">>;

/**
 * A transformation or library, one of its revisions, and the warnings that appeared when this
 * revision was published.
 */
export type AnsweredCode = ResourceRevision & PublishWarnings;

function warningsAnswer({ warnings = [] }: PublishWarnings): PublishWarnings {
  return warnings.length > 0 ? { warnings } : {};
}

/**
 * Builds the answer about a transformation. In the answer, `createdAt` is the time of the first
 * revision, `updatedAt` that of the newest one.
 */
export function transformationAnswer(
  deps: CodeDeps,
  found: AnsweredCode,
  hasLinks = true,
): Static<typeof Transformation> {
  const { resource, revision } = found;
  const { catalog } = deps;
  return {
    ...transformationVersionAnswer(deps, revision),
    ...resourceFields(catalog, found),
    ...(hasLinks && { destinations: linkedDestinations(catalog, resource) }),
    ...warningsAnswer(found),
  };
}

export function transformationVersionAnswer(
  deps: CodeDeps,
  revision: Revision,
): Static<typeof TransformationVersion> {
  return { ...revisionAnswer(deps, revision), codeVersion: "1" };
}

export function libraryAnswer(deps: CodeDeps, found: AnsweredCode): Static<typeof Library> {
  const { resource, revision } = found;
  const { catalog } = deps;
  const workspace = catalog.workspaces.get(resource.workspaceId);
  return {
    ...revisionAnswer(deps, revision),
    ...resourceFields(catalog, found),
    importName: revision.importName ?? "",
    workspace: { id: resource.workspaceId, name: workspace?.name ?? "" },
    ...warningsAnswer(found),
  };
}

export function libraryVersionAnswer(
  deps: CodeDeps,
  revision: Revision,
): Static<typeof LibraryVersion> {
  return { ...revisionAnswer(deps, revision), importName: revision.importName ?? "" };
}

function revisionAnswer({ catalog, python }: CodeDeps, revision: Revision) {
  const { id, versionId, name, description, code, language, workspaceId, kind } = revision;
  const resource = catalog.code.resource(workspaceId, kind, id);
  const { externalId } = resource;
  const isPublished = resource.published === versionId;
  const published = isPublished ? catalog.code.publication(resource)?.imports : undefined;
  const createdAt = isoTime(revision.createdAt);
  const { imports, note } = catalog.code.history(revision);
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
    wasPublished: isPublished || imports !== undefined,
    ...authorAnswer(revision),
    ...defined({ externalId, note }),
  };
}

function authorAnswer({ createdBy }: Revision) {
  if (createdBy === undefined) return {};
  const { tokenId, memberId } = createdBy;
  return { createdBy: memberId ?? tokenId, createdWith: tokenId };
}

function resourceFields(catalog: Catalog, { resource, revision }: ResourceRevision) {
  const { workspaceId, kind, id, newest, published } = resource;
  const latest =
    newest === revision.versionId ? revision : catalog.code.revision(workspaceId, kind, id, newest);
  return {
    createdAt: isoTime(resource.createdAt),
    updatedAt: isoTime(latest.createdAt),
    ...(published !== undefined && { publishedVersionId: published }),
  };
}
