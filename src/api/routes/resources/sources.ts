import { type Static, Type } from "@sinclair/typebox";
import type { Source as StoredSource } from "../../../catalog/model.ts";
import { botModes, ipModes, settingsOfSource } from "../../../catalog/source-settings.ts";
import { defined } from "../../../defined.ts";
import { DEDUP_SECONDS_MAX, SOURCE_ORIGINS_MAX } from "../../../settings/limits.ts";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import { searched, textQuery } from "../../request/list-query.ts";
import { type ResourceCall, route } from "../../route.ts";
import {
  AnyObject,
  answerOf,
  ExternalId,
  enveloped,
  hasExternalIdQuery,
  Name,
  nullable,
  pageQuery,
  strict,
  Time,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { resource } from "./resource.ts";

/**
 * Schema of settings that pixelmill stores and returns because RudderStack's clients send them.
 * They have no effect.
 */
const storedOnly = {
  geoEnrichmentEnabled: Type.Optional(Type.Boolean()),
  transient: Type.Optional(Type.Boolean()),
};

const settings = {
  geoEnrichment: Type.Boolean({
    description:
      "Whether events get the place of their IP address as `context.geo`: of `context.ip`, else of the " +
      "request. It needs the server's setting `geolocation.database`",
  }),
  ip: oneOf(ipModes, {
    description:
      "What is recorded of the address that a request came from: all of it, the network (the first 24 bits " +
      "of IPv4, the first 48 of IPv6), or nothing. The rest is never stored",
  }),
  bots: oneOf(botModes, {
    description:
      "What happens with events whose `context.userAgent` is a bot: nothing, they get `context.isBot` and " +
      "`context.bot`, or they are not delivered",
  }),
  allowedOrigins: Type.Array(Type.String({ format: "origin" }), {
    maxItems: SOURCE_ORIGINS_MAX,
    description:
      "Origins of web pages that may send events, such as `https://example.com` or " +
      "`https://*.example.com`; empty for all. A request without the header `Origin` is accepted",
  }),
  dedupSeconds: Type.Integer({
    minimum: 0,
    maximum: DEDUP_SECONDS_MAX,
    description:
      "Seconds within which an event whose `messageId` the source has sent before is not delivered again; 0 " +
      "for off. Pixels are never repeated events, because the server makes their ids",
  }),
};
const Settings = Type.Object(settings);
const SettingsChange = Type.Partial(Type.Object(settings, strict), {
  ...strict,
  description: "An absent field keeps its value, which is at first its default",
});

export const Source = component("Source", {
  id: Type.String(),
  name: Type.String(),
  type: text("As it was written at creation"),
  workspaceId: Type.String(),
  writeKey: text("Authenticates pixels: a credential"),
  enabled: Type.Boolean(),
  config: AnyObject,
  ...storedOnly,
  settings: Settings,
  externalId: Type.Optional(ExternalId),
  createdAt: Time,
  updatedAt: Time,
});

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
  settings: Type.Optional(SettingsChange),
};
export const NewSource = component("NewSource", {
  name: Name,
  type: Type.Optional(SourceType),
  ...changeableFields,
  externalId: Type.Optional(ExternalId),
});
export const SourceChange = Type.Object(
  { name: Type.Optional(Name), ...changeableFields },
  { $id: "SourceChange", description: "An absent field keeps its value" },
);

const sources = resource({
  singular: "source",
  plural: "sources",
  schema: Source,
  example: example.source,
  answer: sourceAnswer,
  table: (catalog) => catalog.sources,
});

export const sourceRoutes = [
  sources.list({
    query: { ...pageQuery, ...hasExternalIdQuery, ...textQuery },
    from: ({ sources }, { text }, slicing) => searched(sources, text, slicing),
  }),
  sources.create({
    summary: "Create a source with a write key of its own",
    body: NewSource,
    example: { name: "Shop", type: "http" },
    create: createSource,
  }),
  sources.retrieve(),
  sources.update({
    summary: "Change a source",
    body: SourceChange,
    example: { enabled: true },
    update: updateSource,
  }),
  sources.remove("Delete a source with its connections"),

  route("POST /v2/sources/{id}/rotate-write-key", {
    summary: "Give a source a new write key; the old one stops at once",
    needs: ["workspace:admin"],
    readsInChange: true,
    answer: enveloped("source", Source),
    current: sources.current,
    example: { params: { id: example.ids.source }, answer: { source: example.source } },
    async handle({ deps, workspaceId, params }) {
      const source = await deps.catalog.sources.rotateWriteKey(workspaceId, params.id);
      return sources.enclose(source, deps);
    },
  }),

  sources.setExternalId("shop", ({ deps, workspaceId, params, body }) =>
    deps.catalog.sources.update(workspaceId, params.id, body),
  ),
] as const;

type NewSourceCall = Omit<ResourceCall<"/", Static<typeof NewSource>>, "params">;

export function createSource({ deps, workspaceId, body }: NewSourceCall): Promise<StoredSource> {
  const { name, type, externalId } = body;
  return deps.catalog.sources.create(workspaceId, {
    ...changedFields(body),
    name: name.trim(),
    ...defined({ type, externalId }),
  });
}

export function updateSource(
  call: ResourceCall<"/{id}", Static<typeof SourceChange>>,
): Promise<StoredSource> {
  const { deps, workspaceId, params, body } = call;
  return deps.catalog.sources.update(workspaceId, params.id, {
    ...changedFields(body),
    ...(body.name !== undefined && { name: body.name.trim() }),
  });
}

/**
 * Returns the fields of a source that both a create and an update request can set. A config of null
 * becomes an empty object.
 */
function changedFields({
  enabled,
  config,
  geoEnrichmentEnabled,
  transient,
  settings,
}: Static<typeof SourceChange>) {
  return {
    ...(config !== undefined && { config: config ?? {} }),
    ...defined({ enabled, geoEnrichmentEnabled, transient, settings }),
  };
}

export function sourceAnswer(source: StoredSource): Static<typeof Source> {
  const { typeAs: type = source.type } = source;
  return answerOf(Source, { ...source, type, settings: settingsOfSource(source) });
}
