import { type Static, Type } from "@sinclair/typebox";
import type { Source as StoredSource } from "../../../catalog/model.ts";
import type { RouteDeps } from "../../deps.ts";
import { route } from "../../route.ts";
import {
  AnyObject,
  ExternalId,
  enveloped,
  hasExternalIdQuery,
  isoTime,
  Name,
  nullable,
  pageQuery,
  Time,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { resource } from "./resource.ts";

/**
 * Schema of settings that RudderStack's clients send. pixelmill stores them and returns them in
 * responses, but they have no effect.
 */
const storedOnly = {
  geoEnrichmentEnabled: Type.Optional(Type.Boolean()),
  transient: Type.Optional(Type.Boolean()),
};

export const Source = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.String({ description: "As it was written at creation" }),
    workspaceId: Type.String(),
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

const SourceType = Type.String({
  format: "source-type",
  description:
    "`http`, or any of RudderStack's types, such as `Javascript`: sources of all types take the same " +
    "requests",
});

const changeableFields = {
  enabled: Type.Optional(Type.Boolean()),
  config: Type.Optional(nullable(AnyObject)),
  ...storedOnly,
};
export const NewSource = Type.Object(
  {
    name: Name,
    type: Type.Optional(SourceType),
    ...changeableFields,
    externalId: Type.Optional(ExternalId),
  },
  { $id: "NewSource" },
);
export const SourceChange = Type.Object(
  { name: Type.Optional(Name), ...changeableFields },
  { $id: "SourceChange", description: "What is absent keeps its value" },
);

const sources = resource({
  singular: "source",
  plural: "sources",
  schema: Source,
  example: example.source,
  answer: sourceAnswer,
});

export const sourceRoutes = [
  sources.list({
    query: { ...pageQuery, ...hasExternalIdQuery },
    from: (catalog) => catalog.sources,
  }),
  sources.create({
    summary: "Create a source with a write key of its own",
    body: NewSource,
    example: { name: "Shop", type: "http" },
    create: createSource,
  }),
  sources.retrieve((catalog) => catalog.sources),
  sources.update({
    summary: "Change a source",
    body: SourceChange,
    example: { enabled: true },
    update: updateSource,
  }),
  sources.remove("Delete a source with its connections", (catalog) => catalog.sources),

  route("POST /v2/sources/{id}/rotate-write-key", {
    summary: "Give a source a new write key; the old one stops at once",
    needs: ["workspace:admin"],
    answer: enveloped("source", Source),
    example: { params: { id: example.ids.source }, answer: { source: example.source } },
    async handle({ deps, workspaceId, params }) {
      const source = await deps.catalog.sources.rotateWriteKey(workspaceId, params.id);
      return { source: sourceAnswer(source) };
    },
  }),

  sources.setExternalId("shop", ({ deps, workspaceId, params, body }) =>
    deps.catalog.sources.update(workspaceId, params.id, body),
  ),
] as const;

interface SourceRequest<Body> {
  deps: RouteDeps;
  workspaceId: string;
  body: Body;
}

export function createSource({
  deps,
  workspaceId,
  body,
}: SourceRequest<Static<typeof NewSource>>): Promise<StoredSource> {
  const { name, type, externalId } = body;
  return deps.catalog.sources.create(workspaceId, {
    ...changedFields(body),
    name: name.trim(),
    ...(type !== undefined && { type }),
    ...(externalId !== undefined && { externalId }),
  });
}

export function updateSource({
  deps,
  workspaceId,
  params,
  body,
}: SourceRequest<Static<typeof SourceChange>> & { params: { id: string } }): Promise<StoredSource> {
  return deps.catalog.sources.update(workspaceId, params.id, {
    ...changedFields(body),
    ...(body.name !== undefined && { name: body.name.trim() }),
  });
}

/**
 * Returns the fields that create and update requests share. A config of null counts as an empty
 * object.
 */
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

export function sourceAnswer(source: StoredSource): Static<typeof Source> {
  const { typeAs, ...shown } = source;
  return {
    ...shown,
    type: typeAs ?? source.type,
    createdAt: isoTime(source.createdAt),
    updatedAt: isoTime(source.updatedAt),
  };
}
