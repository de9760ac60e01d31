import { Type } from "@sinclair/typebox";
import * as example from "./examples.ts";
import { isPublish, PublishFlag } from "./forms.ts";
import { route } from "./route.ts";
import { Code, Description, ExternalId, Language, Name, publishQuery, Success } from "./schemas.ts";
import { Library, LibraryVersion, libraryAnswer, libraryVersionAnswer } from "./shapes.ts";
import { versionsQuery, versionsRange } from "./versions.ts";

const NewLibrary = Type.Object(
  {
    name: Name,
    code: Code,
    language: Language,
    description: Type.Optional(Description),
    externalId: Type.Optional(ExternalId),
    publish: PublishFlag,
  },
  { $id: "NewLibrary" },
);

const LibraryChange = Type.Object(
  {
    code: Code,
    language: Language,
    description: Type.Optional(Description),
    name: Type.Optional(Name),
    publish: PublishFlag,
  },
  { $id: "LibraryChange", description: "Language and name, when given, must be the library's" },
);

export const libraryRoutes = [
  route("POST /libraries", {
    summary: "Create a library, and publish it when asked to",
    needs: ["libraries:edit"],
    query: publishQuery,
    body: NewLibrary,
    answer: Library,
    example: {
      body: { name: "Text tools", language: "javascript", code: example.library.code },
      answer: example.library,
    },
    async handle({ parts, workspaceId, query, body, request }) {
      const found = await parts.publishing.create(workspaceId, "library", {
        name: body.name,
        language: body.language,
        code: body.code,
        publish: isPublish({ query, body }),
        ...(body.description !== undefined && { description: body.description }),
        ...(body.externalId && { externalId: body.externalId }),
        caller: request.signal,
      });
      return libraryAnswer(parts.catalog, found);
    },
  }),

  route("GET /libraries", {
    summary: "List the published libraries, oldest first",
    needs: [],
    answer: Type.Object({ libraries: Type.Array(Library) }),
    example: { answer: { libraries: [example.library] } },
    handle: ({ parts, workspaceId }) => ({
      libraries: parts.catalog.code
        .listPublished(workspaceId, "library")
        .map((found) => libraryAnswer(parts.catalog, found)),
    }),
  }),

  route("GET /libraries/{id}", {
    summary: "Retrieve a published library",
    needs: [],
    answer: Library,
    example: { params: { id: example.ids.library }, answer: example.library },
    handle: ({ parts, workspaceId, params }) =>
      libraryAnswer(parts.catalog, parts.catalog.code.published(workspaceId, "library", params.id)),
  }),

  route("POST /libraries/{id}", {
    summary: "Make a new version, and publish it when asked to",
    needs: ["libraries:edit"],
    query: publishQuery,
    body: LibraryChange,
    answer: Library,
    example: {
      params: { id: example.ids.library },
      body: { language: "javascript", code: example.library.code },
      answer: example.library,
    },
    async handle({ parts, workspaceId, params, query, body, request }) {
      const found = await parts.publishing.update(workspaceId, "library", params.id, {
        language: body.language,
        code: body.code,
        publish: isPublish({ query, body }),
        ...(body.name !== undefined && { name: body.name }),
        ...(body.description !== undefined && { description: body.description }),
        caller: request.signal,
      });
      return libraryAnswer(parts.catalog, found);
    },
  }),

  route("DELETE /libraries/{id}", {
    summary: "Delete a library that no published transformation imports; its versions stay",
    needs: ["libraries:edit"],
    answer: Success,
    example: { params: { id: example.ids.library }, answer: { success: true } },
    async handle({ parts, workspaceId, params }) {
      await parts.catalog.code.remove(workspaceId, "library", params.id);
      return { success: true as const };
    },
  }),

  route("GET /libraries/{id}/versions", {
    summary: "List versions, of drafts and deleted libraries too",
    needs: [],
    query: versionsQuery,
    answer: Type.Object({ libraryVersions: Type.Array(LibraryVersion) }),
    example: {
      params: { id: example.ids.library },
      answer: { libraryVersions: [example.libraryVersion] },
    },
    handle: ({ parts, workspaceId, params, query }) => ({
      libraryVersions: parts.catalog.code
        .revisions(workspaceId, "library", params.id, versionsRange(query))
        .map((revision) => libraryVersionAnswer(parts.catalog, revision)),
    }),
  }),

  route("GET /libraries/{id}/versions/{versionId}", {
    summary: "Retrieve one version",
    needs: [],
    answer: LibraryVersion,
    example: {
      params: { id: example.ids.library, versionId: example.ids.libraryVersion },
      answer: example.libraryVersion,
    },
    handle({ parts, workspaceId, params }) {
      const { id, versionId } = params;
      const revision = parts.catalog.code.revision(workspaceId, "library", id, versionId);
      return libraryVersionAnswer(parts.catalog, revision);
    },
  }),

  route("PUT /libraries/{id}/external-id", {
    summary: "Set the id by which an external tool (rudder-cli) knows a library",
    needs: ["libraries:edit"],
    body: Type.Object({ externalId: ExternalId }),
    answer: Library,
    example: {
      params: { id: example.ids.library },
      body: { externalId: "text-tools" },
      answer: { ...example.library, externalId: "text-tools" },
    },
    async handle({ parts, workspaceId, params, body }) {
      const { code } = parts.catalog;
      await code.setExternalId(workspaceId, "library", params.id, body.externalId);
      return libraryAnswer(parts.catalog, code.newest(workspaceId, "library", params.id));
    },
  }),
] as const;
