import { type Static, Type } from "@sinclair/typebox";
import type { Catalog, Found } from "../catalog/catalog.ts";
import type { Revision } from "../catalog/model.ts";
import { Id, Language, Time } from "./schemas.ts";

/** Answers of the Transformations API: their schemas, and how they come from the catalog. */

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

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
    imports: Type.Optional(
      Type.Array(Type.String(), { description: "What published code imports, in code order" }),
    ),
    destinations: Type.Optional(Type.Array(LinkedDestination)),
  },
  { $id: "Transformation" },
);

export const LibraryVersion = Type.Object(
  { ...revisionFields, importName: Type.String(), isPublished: Type.Boolean() },
  { $id: "LibraryVersion" },
);

export const Library = Type.Object(
  {
    ...revisionFields,
    importName: Type.String({ description: "lodash camelCase of the name" }),
    workspace: Type.Object({ id: Type.String(), name: Type.String() }),
  },
  { $id: "Library" },
);

/** As it stands: `createdAt` is the resource's, `updatedAt` that of its newest revision. */
export function transformationAnswer(
  catalog: Catalog,
  found: Found,
  options: { destinations: boolean },
): Static<typeof Transformation> {
  const { resource, revision } = found;
  const live = resource.published === revision.versionId;
  const imports = live ? catalog.code.publication(resource)?.imports : undefined;
  return {
    ...transformationVersionAnswer(catalog, revision),
    ...resourceTimes(catalog, found),
    ...(imports && { imports }),
    ...(options.destinations && {
      destinations: catalog.code
        .linked(resource.workspaceId, resource.id)
        .map(({ id, name, enabled }) => ({ id, name, enabled })),
    }),
  };
}

export function transformationVersionAnswer(
  catalog: Catalog,
  revision: Revision,
): Static<typeof TransformationVersion> {
  return { ...revisionAnswer(catalog, revision), codeVersion: "1" };
}

export function libraryAnswer(catalog: Catalog, found: Found): Static<typeof Library> {
  const { resource, revision } = found;
  const workspace = catalog.workspaces.get(resource.workspaceId);
  return {
    ...revisionAnswer(catalog, revision),
    ...resourceTimes(catalog, found),
    importName: revision.importName ?? "",
    workspace: { id: resource.workspaceId, name: workspace?.name ?? "" },
  };
}

export function libraryVersionAnswer(
  catalog: Catalog,
  revision: Revision,
): Static<typeof LibraryVersion> {
  const resource = catalog.code.resource(revision.workspaceId, "library", revision.id);
  return {
    ...revisionAnswer(catalog, revision),
    importName: revision.importName ?? "",
    isPublished: resource.published === revision.versionId,
  };
}

function revisionAnswer(catalog: Catalog, revision: Revision) {
  const { id, versionId, name, description, code, language, workspaceId, kind } = revision;
  const { externalId } = catalog.code.resource(workspaceId, kind, id);
  const createdAt = isoTime(revision.createdAt);
  return {
    id,
    versionId,
    name,
    description,
    code,
    language,
    createdAt,
    updatedAt: createdAt,
    workspaceId,
    ...(externalId !== undefined && { externalId }),
  };
}

function resourceTimes(catalog: Catalog, { resource, revision }: Found) {
  const { workspaceId, kind, id, newest } = resource;
  const latest =
    newest === revision.versionId ? revision : catalog.code.revision(workspaceId, kind, id, newest);
  return { createdAt: isoTime(resource.createdAt), updatedAt: isoTime(latest.createdAt) };
}
