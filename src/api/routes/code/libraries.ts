import { Type } from "@sinclair/typebox";
import { component } from "../../../settings/schema-types.ts";
import { streamList } from "../../response/list-stream.ts";
import { route } from "../../route.ts";
import {
  Code,
  Description,
  ExternalId,
  Language,
  Name,
  Note,
  publishQuery,
  Success,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { currentCode, namedRevision, removeCode, taggedCode } from "./current-code.ts";
import { PublishFlag, revisionInput } from "./publish-requests.ts";
import {
  Library,
  LibraryVersion,
  ListedLibrary,
  libraryAnswer,
  libraryVersionAnswer,
  listed,
} from "./revision-answers.ts";
import { draftQuery, findCode, listCode, listQuery } from "./revision-queries.ts";
import { versionsQuery, versionsRange } from "./version-list-query.ts";

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

const current = currentCode("library");
const remove = removeCode("library");
const currentRevision = namedRevision("library", libraryVersionAnswer);

export const libraryRoutes = [
  route("POST /libraries", {
    summary: "Create a library, and publish it when asked to",
    isLong: true,
    needs: ["libraries:edit"],
    query: publishQuery,
    body: NewLibrary,
    creates: true,
    hasLargeBody: true,
    answer: Library,
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
      return taggedCode(deps, found.resource, libraryAnswer(deps, found));
    },
  }),

  route("GET /libraries", {
    summary: "List the published libraries, oldest first, or the drafts",
    needs: [],
    query: listQuery,
    answer: Type.Object({ libraries: Type.Array(ListedLibrary) }),
    example: { answer: { libraries: [example.library] } },
    handle(call) {
      const { deps, workspaceId, query } = call;
      const found = listCode(deps.catalog.code, workspaceId, "library", query);
      const answers = found.map((it) => it && listed(libraryAnswer(deps, it), query.code ?? true));
      return streamList(call, "libraries", answers);
    },
  }),

  route("GET /libraries/{id}", {
    summary: "Retrieve a published library, or the newest version of a draft",
    needs: [],
    query: draftQuery,
    answer: Library,
    current,
    example: { params: { id: example.ids.library }, answer: example.library },
    handle({ deps, workspaceId, params, query }) {
      const found = findCode(deps.catalog.code, workspaceId, "library", params.id, query);
      return taggedCode(deps, found.resource, libraryAnswer(deps, found));
    },
  }),

  route("POST /libraries/{id}", {
    summary: "Make a new version, and publish it when asked to",
    isLong: true,
    needs: ["libraries:edit"],
    query: publishQuery,
    body: LibraryChange,
    hasLargeBody: true,
    answer: Library,
    current,
    example: {
      params: { id: example.ids.library },
      body: { language: "javascript", code: example.library.code },
      answer: example.library,
    },
    async handle(call) {
      const { deps, workspaceId, params } = call;
      const input = revisionInput(call);
      const found = await deps.publishing.update(workspaceId, "library", params.id, input);
      return taggedCode(deps, found.resource, libraryAnswer(deps, found));
    },
  }),

  route("DELETE /libraries/{id}", {
    summary: "Delete a library that no published transformation imports; its versions stay",
    needs: ["libraries:edit"],
    readsInChange: true,
    answer: Success,
    current,
    example: { params: { id: example.ids.library }, answer: { success: true } },
    handle: (call) => remove(call),
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
    handle(call) {
      const { deps, workspaceId, params, query } = call;
      const { code } = deps.catalog;
      const versions = code.revisions(workspaceId, "library", params.id, versionsRange(query));
      const answers = versions.map((it) => libraryVersionAnswer(deps, it));
      return streamList(call, "libraryVersions", answers);
    },
  }),

  route("GET /libraries/{id}/versions/{versionId}", {
    summary: "Retrieve one version",
    needs: [],
    answer: LibraryVersion,
    example: {
      params: { id: example.ids.library, versionId: example.ids.libraryVersion },
      answer: example.libraryVersion,
    },
    current: (call) => [currentRevision(call)],
    handle: (call) => currentRevision(call).now,
  }),

  route("PUT /libraries/{id}/external-id", {
    summary: "Set the id by which an external tool (rudder-cli) knows a library",
    needs: ["libraries:edit"],
    readsInChange: true,
    body: Type.Object({ externalId: ExternalId }),
    answer: Library,
    current,
    example: {
      params: { id: example.ids.library },
      body: { externalId: "text-tools" },
      answer: { ...example.library, externalId: "text-tools" },
    },
    async handle({ deps, workspaceId, params, body }) {
      const { code } = deps.catalog;
      return code.setExternalId(workspaceId, "library", params.id, body.externalId, () => {
        const found = code.newestRevision(workspaceId, "library", params.id);
        return taggedCode(deps, found.resource, libraryAnswer(deps, found));
      });
    },
  }),
] as const;
