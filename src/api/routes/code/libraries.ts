import { Type } from "@sinclair/typebox";
import { component } from "../../../settings/schema-types.ts";
import { route } from "../../route.ts";
import { Code, Description, ExternalId, Language, Name, Note } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { codeRoutes } from "./code-routes.ts";
import { PublishFlag, revisionInput } from "./publish-requests.ts";
import {
  Library,
  LibraryVersion,
  ListedLibrary,
  libraryAnswer,
  libraryVersionAnswer,
} from "./revision-answers.ts";

const NewLibrary = component("NewLibrary", {
  name: Name,
  code: Code,
  language: Language,
  description: Type.Optional(Description),
  externalId: Type.Optional(ExternalId),
  publish: PublishFlag,
  note: Note,
});

const LibraryChange = Type.Object(
  {
    code: Code,
    language: Language,
    description: Type.Optional(Description),
    name: Type.Optional(Name),
    publish: PublishFlag,
    note: Note,
  },
  { $id: "LibraryChange", description: "Language and name, when given, must be the library's" },
);

const libraries = codeRoutes({
  kind: "library",
  plural: "libraries",
  versions: "libraryVersions",
  noun: "version",
  schemas: { item: Library, listed: ListedLibrary, version: LibraryVersion },
  examples: {
    item: example.library,
    version: example.libraryVersion,
    external: { ...example.library, externalId: "text-tools" },
  },
  answer: libraryAnswer,
  versionAnswer: libraryVersionAnswer,
});

export const libraryRoutes = [
  route("POST /libraries", {
    summary: "Create a library, and publish it when asked to",
    ...libraries.save,
    needs: ["libraries:edit"],
    body: NewLibrary,
    creates: true,
    example: {
      body: { name: "Text tools", language: "javascript", code: example.library.code },
      answer: example.library,
    },
    async handle(call) {
      const { deps, workspaceId, body } = call;
      const found = await deps.publishing.create(workspaceId, "library", {
        ...revisionInput(call),
        ...(body.externalId && { externalId: body.externalId }),
      });
      return libraries.enclose(deps, found);
    },
  }),

  route("GET /libraries", libraries.list),

  route("GET /libraries/{id}", libraries.retrieve),

  route("POST /libraries/{id}", {
    summary: "Make a new version, and publish it when asked to",
    ...libraries.save,
    needs: ["libraries:edit"],
    body: LibraryChange,
    current: libraries.current,
    example: {
      params: { id: example.ids.library },
      body: { language: "javascript", code: example.library.code },
      answer: example.library,
    },
    async handle(call) {
      const { deps, workspaceId, params } = call;
      const input = revisionInput(call);
      const found = await deps.publishing.update(workspaceId, "library", params.id, input);
      return libraries.enclose(deps, found);
    },
  }),

  route("DELETE /libraries/{id}", {
    ...libraries.remove,
    summary: "Delete a library that no published transformation imports; its versions stay",
    needs: ["libraries:edit"],
  }),

  route("GET /libraries/{id}/versions", libraries.listVersions),

  route("GET /libraries/{id}/versions/{versionId}", libraries.retrieveVersion),

  route("PUT /libraries/{id}/external-id", {
    ...libraries.setExternalId,
    needs: ["libraries:edit"],
  }),
] as const;
