import { Type } from "@sinclair/typebox";
import type { Permission } from "../../catalog/model.ts";
import * as example from "../document/examples.ts";
import { draftQuery, foundOf, listQuery, oneOf } from "../drafts.ts";
import { listed } from "../listing.ts";
import { route } from "../route.ts";
import {
  Code,
  Description,
  ExternalId,
  Id,
  Language,
  Name,
  publishQuery,
  Success,
} from "../schema/pieces.ts";
import {
  Transformation,
  TransformationVersion,
  transformationAnswer,
  transformationVersionAnswer,
} from "../transformation-answers.ts";
import {
  destinationIdsOf,
  destinationLists,
  Events,
  eventList,
  isPublish,
  type Publishable,
  PublishFlag,
} from "../transformation-requests.ts";
import { versionsQuery, versionsRange } from "../versions.ts";

const connect: readonly Permission[] = ["transformations:connect", "destinations:connect"];
const connecting = {
  when: "it publishes with destinations",
  permissions: connect,
  holds: (asked: Publishable) => isPublish(asked) && destinationIdsOf(asked.body).length > 0,
};

const NewTransformation = Type.Object(
  {
    name: Name,
    language: Language,
    description: Type.Optional(Description),
    code: Type.Optional(Code),
    events: Events,
    externalId: Type.Optional(ExternalId),
    publish: PublishFlag,
    ...destinationLists,
  },
  { $id: "NewTransformation" },
);

const TransformationChange = Type.Object(
  {
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    code: Type.Optional(Code),
    language: Type.Optional(Language),
    events: Events,
    publish: PublishFlag,
    ...destinationLists,
  },
  { $id: "TransformationChange", description: "What is absent keeps its value" },
);

const DestinationReference = Type.Object({ destinationId: Id }, { $id: "DestinationReference" });

export const transformationRoutes = [
  route("POST /transformations", {
    summary: "Create a transformation, and publish it when asked to",
    needs: ["transformations:create-delete"],
    alsoNeeds: [
      { when: "it publishes", permissions: ["transformations:edit"], holds: isPublish },
      connecting,
    ],
    query: publishQuery,
    body: NewTransformation,
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
    async handle({ parts, principal, workspaceId, query, body, request }) {
      const publish = isPublish({ query, body });
      const found = await parts.publishing.create(workspaceId, "transformation", {
        createdBy: principal,
        name: body.name,
        language: body.language,
        code: body.code ?? "",
        publish,
        destinationIds: destinationIdsOf(body),
        ...(body.description !== undefined && { description: body.description }),
        ...(body.externalId && { externalId: body.externalId }),
        ...(body.events && { events: eventList(body.events) }),
        caller: request.signal,
      });
      return transformationAnswer(parts, found, { destinations: publish });
    },
  }),

  route("GET /transformations", {
    summary: "List the published transformations, oldest first, or the drafts",
    needs: [],
    query: listQuery,
    answer: Type.Object({ transformations: Type.Array(Transformation) }),
    example: { answer: { transformations: [example.transformation] } },
    handle(call) {
      const { parts, workspaceId, query } = call;
      const found = foundOf(parts.catalog.code, workspaceId, "transformation", query);
      const answers = found.map((it) => transformationAnswer(parts, it, { destinations: true }));
      return listed(call, "transformations", answers);
    },
  }),

  route("GET /transformations/{id}", {
    summary: "Retrieve a published transformation, or the newest revision of a draft",
    needs: [],
    query: draftQuery,
    answer: Transformation,
    example: { params: { id: example.ids.transformation }, answer: example.transformation },
    handle({ parts, workspaceId, params, query }) {
      const { code } = parts.catalog;
      const found = oneOf(code, workspaceId, "transformation", params.id, query);
      return transformationAnswer(parts, found, { destinations: true });
    },
  }),

  route("POST /transformations/{id}", {
    summary: "Make a new revision, and publish it when asked to",
    needs: ["transformations:edit"],
    alsoNeeds: [connecting],
    query: publishQuery,
    body: TransformationChange,
    answer: Transformation,
    example: {
      params: { id: example.ids.transformation },
      body: { code: example.transformation.code },
      answer: example.transformationVersion,
    },
    async handle({ parts, principal, workspaceId, params, query, body, request }) {
      const publish = isPublish({ query, body });
      const found = await parts.publishing.update(workspaceId, "transformation", params.id, {
        createdBy: principal,
        publish,
        destinationIds: destinationIdsOf(body),
        ...(body.name !== undefined && { name: body.name }),
        ...(body.language !== undefined && { language: body.language }),
        ...(body.code !== undefined && { code: body.code }),
        ...(body.description !== undefined && { description: body.description }),
        ...(body.events && { events: eventList(body.events) }),
        caller: request.signal,
      });
      return transformationAnswer(parts, found, { destinations: publish });
    },
  }),

  route("DELETE /transformations/{id}", {
    summary: "Delete a transformation and disconnect it; its revisions stay",
    needs: ["transformations:create-delete"],
    answer: Success,
    example: { params: { id: example.ids.transformation }, answer: { success: true } },
    async handle({ parts, workspaceId, params }) {
      await parts.catalog.code.remove(workspaceId, "transformation", params.id);
      return { success: true as const };
    },
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
      const { parts, workspaceId, params, query } = call;
      const { code } = parts.catalog;
      const range = versionsRange(query);
      const versions = code.revisions(workspaceId, "transformation", params.id, range);
      const answers = versions.map((it) => transformationVersionAnswer(parts, it));
      return listed(call, "TransformationVersions", answers);
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
    handle({ parts, workspaceId, params }) {
      const { id, versionId } = params;
      const revision = parts.catalog.code.revision(workspaceId, "transformation", id, versionId);
      return transformationVersionAnswer(parts, revision);
    },
  }),

  route("POST /transformations/{id}/connectToDestination", {
    summary: "Connect a published transformation to a destination, in place of any other",
    needs: connect,
    body: DestinationReference,
    answer: Transformation,
    example: {
      params: { id: example.ids.transformation },
      body: { destinationId: example.ids.destination },
      answer: example.transformation,
    },
    async handle({ parts, workspaceId, params, body }) {
      const { code } = parts.catalog;
      return code.link(workspaceId, params.id, body.destinationId, () => {
        const found = code.published(workspaceId, "transformation", params.id);
        return transformationAnswer(parts, found, { destinations: true });
      });
    },
  }),

  route("POST /transformations/{id}/disconnectFromDestination", {
    summary: "Disconnect a transformation from a destination",
    needs: connect,
    body: DestinationReference,
    answer: Transformation,
    example: {
      params: { id: example.ids.transformation },
      body: { destinationId: example.ids.destination },
      answer: { ...example.transformation, destinations: [] },
    },
    async handle({ parts, workspaceId, params, body }) {
      const { code } = parts.catalog;
      return code.unlink(workspaceId, params.id, body.destinationId, () => {
        const found = code.newest(workspaceId, "transformation", params.id);
        const shown = found.resource.published
          ? code.published(workspaceId, "transformation", params.id)
          : found;
        return transformationAnswer(parts, shown, { destinations: true });
      });
    },
  }),

  route("PUT /transformations/{id}/external-id", {
    summary: "Set the id by which an external tool (rudder-cli) knows a transformation",
    needs: ["transformations:edit"],
    body: Type.Object({ externalId: ExternalId }),
    answer: Transformation,
    example: {
      params: { id: example.ids.transformation },
      body: { externalId: "shout-titles" },
      answer: { ...example.transformationVersion, externalId: "shout-titles" },
    },
    async handle({ parts, workspaceId, params, body }) {
      const { code } = parts.catalog;
      await code.setExternalId(workspaceId, "transformation", params.id, body.externalId);
      const found = code.newest(workspaceId, "transformation", params.id);
      return transformationAnswer(parts, found, { destinations: false });
    },
  }),
] as const;
