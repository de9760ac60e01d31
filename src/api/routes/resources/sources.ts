import { type Static, Type } from "@sinclair/typebox";
import type { Source as StoredSource } from "../../../catalog/model.ts";
import { pagingOf } from "../../response/paging.ts";
import { route } from "../../route.ts";
import {
  AnyObject,
  ExternalId,
  enveloped,
  hasExternalIdQuery,
  isoTime,
  Name,
  nullable,
  paged,
  pageQuery,
  Time,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

/** Settings that RudderStack's clients send; they are stored and answered, and have no effect. */
const storedOnly = {
  geoEnrichmentEnabled: Type.Optional(Type.Boolean()),
  transient: Type.Optional(Type.Boolean()),
};

const Source = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.String({ description: "`http`, as it was written at creation" }),
    writeKey: Type.String({ description: "Authenticates pixels: a credential" }),
    enabled: Type.Boolean(),
    config: AnyObject,
    ...storedOnly,
    externalId: Type.Optional(ExternalId),
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: "Source" },
);

const changeableFields = {
  enabled: Type.Optional(Type.Boolean()),
  config: Type.Optional(nullable(AnyObject)),
  ...storedOnly,
};
const NewSource = Type.Object(
  {
    name: Name,
    type: Type.Optional(Type.String({ format: "source-type", description: "`http`, in any case" })),
    ...changeableFields,
    externalId: Type.Optional(ExternalId),
  },
  { $id: "NewSource" },
);
const SourceChange = Type.Object(
  { name: Type.Optional(Name), ...changeableFields },
  { $id: "SourceChange", description: "What is absent keeps its value" },
);

const params = { id: example.ids.source };
const answer = { source: example.source };

export const sourceRoutes = [
  route("GET /v2/sources", {
    summary: "List sources",
    aliases: ["/sources"],
    needs: ["workspace:admin"],
    query: { ...pageQuery, ...hasExternalIdQuery },
    answer: paged("sources", Source),
    example: { answer: { sources: [example.source], paging: { total: 1 } } },
    handle({ deps, workspaceId, query: { page = 1, hasExternalId } }) {
      const found = deps.catalog.sources.list(workspaceId, page, hasExternalId);
      return {
        sources: found.items.map(sourceAnswer),
        paging: pagingOf("/sources", page, found, { hasExternalId }),
      };
    },
  }),

  route("POST /v2/sources", {
    summary: "Create an HTTP source with a write key of its own",
    needs: ["workspace:admin"],
    body: NewSource,
    answer: enveloped("source", Source),
    status: 201,
    example: { body: { name: "Shop", type: "http" }, answer },
    async handle({ deps, workspaceId, body }) {
      const { name, type = "http", externalId } = body;
      const input = {
        ...changedFields(body),
        name: name.trim(),
        ...(type !== "http" && { typeAs: type }),
        ...(externalId !== undefined && { externalId }),
      };
      return { source: sourceAnswer(await deps.catalog.sources.create(workspaceId, input)) };
    },
  }),

  route("GET /v2/sources/{id}", {
    summary: "Retrieve a source",
    needs: ["workspace:admin"],
    answer: enveloped("source", Source),
    example: { params, answer },
    handle: ({ deps, workspaceId, params }) => ({
      source: sourceAnswer(deps.catalog.sources.get(workspaceId, params.id)),
    }),
  }),

  route("PUT /v2/sources/{id}", {
    summary: "Change a source",
    needs: ["workspace:admin"],
    body: SourceChange,
    answer: enveloped("source", Source),
    example: { params, body: { enabled: true }, answer },
    async handle({ deps, workspaceId, params, body }) {
      const input = {
        ...changedFields(body),
        ...(body.name !== undefined && { name: body.name.trim() }),
      };
      const source = await deps.catalog.sources.update(workspaceId, params.id, input);
      return { source: sourceAnswer(source) };
    },
  }),

  route("DELETE /v2/sources/{id}", {
    summary: "Delete a source with its connections",
    needs: ["workspace:admin"],
    answer: Type.Undefined(),
    status: 204,
    example: { params, answer: undefined },
    async handle({ deps, workspaceId, params }) {
      await deps.catalog.sources.remove(workspaceId, params.id);
      return undefined;
    },
  }),

  route("POST /v2/sources/{id}/rotate-write-key", {
    summary: "Give a source a new write key; the old one stops at once",
    needs: ["workspace:admin"],
    answer: enveloped("source", Source),
    example: { params, answer },
    async handle({ deps, workspaceId, params }) {
      const source = await deps.catalog.sources.rotateWriteKey(workspaceId, params.id);
      return { source: sourceAnswer(source) };
    },
  }),

  route("PUT /v2/sources/{id}/external-id", {
    summary: "Set the id by which an external tool knows a source",
    needs: ["workspace:admin"],
    body: Type.Object({ externalId: ExternalId }),
    answer: enveloped("source", Source),
    example: {
      params,
      body: { externalId: "shop" },
      answer: { source: { ...example.source, externalId: "shop" } },
    },
    async handle({ deps, workspaceId, params, body: { externalId } }) {
      const source = await deps.catalog.sources.update(workspaceId, params.id, { externalId });
      return { source: sourceAnswer(source) };
    },
  }),
] as const;

/** The fields that both bodies may have; a config of null is an empty one. */
function changedFields({
  enabled,
  config,
  geoEnrichmentEnabled,
  transient,
}: Static<typeof SourceChange>) {
  return {
    ...(enabled !== undefined && { enabled }),
    ...(config !== undefined && { config: config ?? {} }),
    ...(geoEnrichmentEnabled !== undefined && { geoEnrichmentEnabled }),
    ...(transient !== undefined && { transient }),
  };
}

function sourceAnswer(source: StoredSource): Static<typeof Source> {
  const { workspaceId: _, typeAs, ...shown } = source;
  return {
    ...shown,
    type: typeAs ?? source.type,
    createdAt: isoTime(source.createdAt),
    updatedAt: isoTime(source.updatedAt),
  };
}
