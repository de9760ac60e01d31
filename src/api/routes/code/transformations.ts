import { Type } from "@sinclair/typebox";
import type { Permission } from "../../../catalog/model.ts";
import { component } from "../../../settings/schema-types.ts";
import { streamList } from "../../response/list-stream.ts";
import { route } from "../../route.ts";
import {
  Code,
  Description,
  ExternalId,
  Id,
  Language,
  Name,
  Note,
  publishQuery,
  Success,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { currentCode, namedRevision, removeCode, taggedTransformation } from "./current-code.ts";
import {
  destinationIdsOf,
  destinationLists,
  Events,
  eventList,
  isPublish,
  type LinkingPublishRequest,
  PublishFlag,
  revisionInput,
} from "./publish-requests.ts";
import {
  ListedTransformation,
  listed,
  Transformation,
  TransformationVersion,
  transformationAnswer,
  transformationVersionAnswer,
} from "./revision-answers.ts";
import { draftQuery, findCode, listCode, listQuery } from "./revision-queries.ts";
import { versionsQuery, versionsRange } from "./version-list-query.ts";

const connect: readonly Permission[] = ["transformations:connect", "destinations:connect"];
const connectPermissions = {
  when: "it publishes with destinations",
  permissions: connect,
  holds: (asked: LinkingPublishRequest) =>
    isPublish(asked) && destinationIdsOf(asked.body).length > 0,
};

const NewTransformation = component("NewTransformation", {
  name: Name,
  language: Language,
  description: Type.Optional(Description),
  code: Type.Optional(Code),
  events: Events,
  externalId: Type.Optional(ExternalId),
  publish: PublishFlag,
  note: Note,
  ...destinationLists,
});

const TransformationChange = Type.Object(
  {
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    code: Type.Optional(Code),
    language: Type.Optional(Language),
    events: Events,
    publish: PublishFlag,
    note: Note,
    ...destinationLists,
  },
  { $id: "TransformationChange", description: "An absent field keeps its value" },
);

const DestinationReference = component("DestinationReference", { destinationId: Id });

const current = currentCode("transformation");
const remove = removeCode("transformation");
const currentRevision = namedRevision("transformation", transformationVersionAnswer);

export const transformationRoutes = [
  route("POST /transformations", {
    summary: "Create a transformation, and publish it when asked to",
    isLong: true,
    needs: ["transformations:create-delete"],
    alsoNeeds: [
      { when: "it publishes", permissions: ["transformations:edit"], holds: isPublish },
      connectPermissions,
    ],
    query: publishQuery,
    body: NewTransformation,
    creates: true,
    hasLargeBody: true,
    answer: Transformation,
    example: {
      body: {
        name: example.transformation.name,
        language: "javascript",
        description: example.transformation.description,
        code: example.transformation.code,
        events: [example.event],
      },
      answer: example.transformationVersion,
    },
    async handle(call) {
      const { deps, workspaceId, body } = call;
      const input = revisionInput(call);
      const found = await deps.publishing.create(workspaceId, "transformation", {
        ...input,
        code: body.code ?? "",
        destinationIds: destinationIdsOf(body),
        ...(body.externalId && { externalId: body.externalId }),
        ...(body.events && { events: eventList(body.events) }),
      });
      return taggedTransformation(deps, found, input.publish);
    },
  }),

  route("GET /transformations", {
    summary: "List the published transformations, oldest first, or the drafts",
    needs: [],
    query: listQuery,
    answer: Type.Object({ transformations: Type.Array(ListedTransformation) }),
    example: { answer: { transformations: [example.transformation] } },
    handle(call) {
      const { deps, workspaceId, query } = call;
      const found = listCode(deps.catalog.code, workspaceId, "transformation", query);
      const answers = found.map(
        (it) =>
          it && listed(transformationAnswer(deps, it, { destinations: true }), query.code ?? true),
      );
      return streamList(call, "transformations", answers);
    },
  }),

  route("GET /transformations/{id}", {
    summary: "Retrieve a published transformation, or the newest revision of a draft",
    needs: [],
    query: draftQuery,
    answer: Transformation,
    current,
    example: { params: { id: example.ids.transformation }, answer: example.transformation },
    handle({ deps, workspaceId, params, query }) {
      const { code } = deps.catalog;
      const found = findCode(code, workspaceId, "transformation", params.id, query);
      return taggedTransformation(deps, found, true);
    },
  }),

  route("POST /transformations/{id}", {
    summary: "Make a new revision, and publish it when asked to",
    isLong: true,
    needs: ["transformations:edit"],
    alsoNeeds: [connectPermissions],
    query: publishQuery,
    body: TransformationChange,
    hasLargeBody: true,
    answer: Transformation,
    current,
    example: {
      params: { id: example.ids.transformation },
      body: { code: example.transformation.code },
      answer: example.transformationVersion,
    },
    async handle(call) {
      const { deps, workspaceId, params, body } = call;
      const input = revisionInput(call);
      const found = await deps.publishing.update(workspaceId, "transformation", params.id, {
        ...input,
        destinationIds: destinationIdsOf(body),
        ...(body.events && { events: eventList(body.events) }),
      });
      return taggedTransformation(deps, found, input.publish);
    },
  }),

  route("DELETE /transformations/{id}", {
    summary: "Delete a transformation and disconnect it; its revisions stay",
    needs: ["transformations:create-delete"],
    readsInChange: true,
    answer: Success,
    current,
    example: { params: { id: example.ids.transformation }, answer: { success: true } },
    handle: (call) => remove(call),
  }),

  route("GET /transformations/{id}/versions", {
    summary: "List revisions, of drafts and deleted transformations too",
    needs: [],
    query: versionsQuery,
    answer: Type.Object({ TransformationVersions: Type.Array(TransformationVersion) }),
    example: {
      params: { id: example.ids.transformation },
      answer: { TransformationVersions: [example.transformationVersion] },
    },
    handle(call) {
      const { deps, workspaceId, params, query } = call;
      const { code } = deps.catalog;
      const range = versionsRange(query);
      const versions = code.revisions(workspaceId, "transformation", params.id, range);
      const answers = versions.map((it) => transformationVersionAnswer(deps, it));
      return streamList(call, "TransformationVersions", answers);
    },
  }),

  route("GET /transformations/{id}/versions/{versionId}", {
    summary: "Retrieve one revision",
    needs: [],
    answer: TransformationVersion,
    example: {
      params: { id: example.ids.transformation, versionId: example.ids.transformationVersion },
      answer: example.transformationVersion,
    },
    current: (call) => [currentRevision(call)],
    handle: (call) => currentRevision(call).now,
  }),

  route("POST /transformations/{id}/connectToDestination", {
    summary: "Connect a published transformation to a destination, in place of any other",
    needs: connect,
    readsInChange: true,
    body: DestinationReference,
    answer: Transformation,
    current,
    example: {
      params: { id: example.ids.transformation },
      body: { destinationId: example.ids.destination },
      answer: example.transformation,
    },
    async handle({ deps, workspaceId, params, body }) {
      const { code } = deps.catalog;
      return code.link(workspaceId, params.id, body.destinationId, () => {
        const found = code.publishedRevision(workspaceId, "transformation", params.id);
        return taggedTransformation(deps, found, true);
      });
    },
  }),

  route("POST /transformations/{id}/disconnectFromDestination", {
    summary: "Disconnect a transformation from a destination",
    needs: connect,
    readsInChange: true,
    body: DestinationReference,
    answer: Transformation,
    current,
    example: {
      params: { id: example.ids.transformation },
      body: { destinationId: example.ids.destination },
      answer: { ...example.transformation, destinations: [] },
    },
    async handle({ deps, workspaceId, params, body }) {
      const { code } = deps.catalog;
      return code.unlink(workspaceId, params.id, body.destinationId, () => {
        const found = code.newestRevision(workspaceId, "transformation", params.id);
        const shown = found.resource.published
          ? code.publishedRevision(workspaceId, "transformation", params.id)
          : found;
        return taggedTransformation(deps, shown, true);
      });
    },
  }),

  route("PUT /transformations/{id}/external-id", {
    summary: "Set the id by which an external tool (rudder-cli) knows a transformation",
    needs: ["transformations:edit"],
    readsInChange: true,
    body: Type.Object({ externalId: ExternalId }),
    answer: Transformation,
    current,
    example: {
      params: { id: example.ids.transformation },
      body: { externalId: "shout-titles" },
      answer: { ...example.transformationVersion, externalId: "shout-titles" },
    },
    async handle({ deps, workspaceId, params, body }) {
      const { code } = deps.catalog;
      const { externalId } = body;
      return code.setExternalId(workspaceId, "transformation", params.id, externalId, () => {
        const found = code.newestRevision(workspaceId, "transformation", params.id);
        return taggedTransformation(deps, found, false);
      });
    },
  }),
] as const;
