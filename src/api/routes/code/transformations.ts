import { Type } from "@sinclair/typebox";
import type { Permission } from "../../../catalog/model.ts";
import { component } from "../../../settings/schema-types.ts";
import { route } from "../../route.ts";
import { Code, Description, ExternalId, Id, Language, Name, Note } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { codeRoutes } from "./code-routes.ts";
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
  Transformation,
  TransformationVersion,
  transformationAnswer,
  transformationVersionAnswer,
} from "./revision-answers.ts";

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

const transformations = codeRoutes({
  kind: "transformation",
  plural: "transformations",
  versions: "TransformationVersions",
  noun: "revision",
  schemas: {
    item: Transformation,
    listed: ListedTransformation,
    version: TransformationVersion,
  },
  examples: {
    item: example.transformation,
    version: example.transformationVersion,
    external: { ...example.transformationVersion, externalId: "shout-titles" },
  },
  answer: transformationAnswer,
  versionAnswer: transformationVersionAnswer,
});

/** Options of the routes that link a transformation to a destination. */
const linking = {
  needs: connect,
  readsInChange: true,
  body: component("DestinationReference", { destinationId: Id }),
  answer: Transformation,
  current: transformations.current,
};
const linkingExample = {
  params: { id: example.ids.transformation },
  body: { destinationId: example.ids.destination },
};

export const transformationRoutes = [
  route("POST /transformations", {
    summary: "Create a transformation, and publish it when asked to",
    ...transformations.save,
    needs: ["transformations:create-delete"],
    alsoNeeds: [
      { when: "it publishes", permissions: ["transformations:edit"], holds: isPublish },
      connectPermissions,
    ],
    body: NewTransformation,
    creates: true,
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
      return transformations.enclose(deps, found, input.publish);
    },
  }),

  route("GET /transformations", transformations.list),

  route("GET /transformations/{id}", transformations.retrieve),

  route("POST /transformations/{id}", {
    summary: "Make a new revision, and publish it when asked to",
    ...transformations.save,
    needs: ["transformations:edit"],
    alsoNeeds: [connectPermissions],
    body: TransformationChange,
    current: transformations.current,
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
      return transformations.enclose(deps, found, input.publish);
    },
  }),

  route("DELETE /transformations/{id}", {
    ...transformations.remove,
    summary: "Delete a transformation and disconnect it; its revisions stay",
    needs: ["transformations:create-delete"],
  }),

  route("GET /transformations/{id}/versions", transformations.listVersions),

  route("GET /transformations/{id}/versions/{versionId}", transformations.retrieveVersion),

  route("POST /transformations/{id}/connectToDestination", {
    summary: "Connect a published transformation to a destination, in place of any other",
    ...linking,
    example: { ...linkingExample, answer: example.transformation },
    async handle({ deps, workspaceId, params, body }) {
      const { code } = deps.catalog;
      return code.link(workspaceId, params.id, body.destinationId, () => {
        const found = code.publishedRevision(workspaceId, "transformation", params.id);
        return transformations.enclose(deps, found);
      });
    },
  }),

  route("POST /transformations/{id}/disconnectFromDestination", {
    summary: "Disconnect a transformation from a destination",
    ...linking,
    example: { ...linkingExample, answer: { ...example.transformation, destinations: [] } },
    async handle({ deps, workspaceId, params, body }) {
      const { code } = deps.catalog;
      return code.unlink(workspaceId, params.id, body.destinationId, () => {
        const found = code.newestRevision(workspaceId, "transformation", params.id);
        const shown = found.resource.published
          ? code.publishedRevision(workspaceId, "transformation", params.id)
          : found;
        return transformations.enclose(deps, shown);
      });
    },
  }),

  route("PUT /transformations/{id}/external-id", {
    ...transformations.setExternalId,
    needs: ["transformations:edit"],
  }),
] as const;
