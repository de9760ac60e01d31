import { type Static, Type } from "@sinclair/typebox";
import type { Source as StoredSource } from "../../../catalog/model.ts";
import { botModes, ipModes, settingsOfSource } from "../../../catalog/source-settings.ts";
import { DEDUP_SECONDS_MAX, SOURCE_ORIGINS_MAX } from "../../../settings/limits.ts";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import { currentState, tagged } from "../../entity-tag.ts";
import { searched, textQuery } from "../../request/list-query.ts";
import { pagingOf } from "../../response/paging.ts";
import { type ResourceCall, route } from "../../route.ts";
import {
  AnyObject,
  answerOf,
  ExternalId,
  enveloped,
  hasExternalIdQuery,
  Name,
  nullable,
  paged,
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

const Source = component("Source", {
  id: Type.String(),
  name: Type.String(),
  type: text("As it was written at creation"),
  workspaceId: Type.String(),
  writeKey: text("Authenticates events: a credential"),
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
const NewSource = component("NewSource", {
  name: Name,
  type: Type.Optional(SourceType),
  ...changeableFields,
  externalId: Type.Optional(ExternalId),
});
const SourceChange = Type.Object(
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

const path = "/v2/event-stream-sources";
const params = { id: example.ids.source };
const answer = example.source;

function current({ deps, workspaceId, params }: ResourceCall<"/{id}", unknown>) {
  const source = sourceAnswer(deps.catalog.sources.get(workspaceId, params.id));
  return [currentState("source", tagged(source), source)] as const;
}

const shared = { needs: ["workspace:admin"], answer: Source } as const;
const changes = { ...shared, readsInChange: true, current } as const;

/**
 * Routes of sources under the path that rudder-cli uses. A response with one source is the source
 * itself, without an object around it. A response with a list has the list in the field `data`.
 */
export const eventStreamSourceRoutes = [
  route(`GET ${path}`, {
    summary: "List sources, as rudder-cli asks for them; empty without `workspace:admin`",
    needs: [],
    query: { ...pageQuery, ...hasExternalIdQuery },
    answer: paged("data", Source),
    example: { answer: { data: [answer], paging: { total: 1 } } },
    handle({ deps, workspaceId, principal, query: { page = 1, hasExternalId } }) {
      // rudder-cli lists sources whatever permissions its token has.
      if (!principal.permissions.has("workspace:admin")) return { data: [], paging: { total: 0 } };
      const found = deps.catalog.sources.list(workspaceId, page, hasExternalId);
      const paging = pagingOf(path, page, found, { hasExternalId });
      return { data: found.items.map(sourceAnswer), paging };
    },
  }),
  route(`POST ${path}`, {
    ...shared,
    summary: "Create a source, as rudder-cli does",
    readsInChange: true,
    body: NewSource,
    status: 201,
    example: { body: { name: "Shop", type: "Javascript" }, answer },
    creates: true,
    handle: async (context) => tagged(sourceAnswer(await createSource(context))),
  }),
  route(`GET ${path}/{id}`, {
    ...shared,
    summary: "Retrieve a source, without an envelope",
    example: { params, answer },
    current,
    handle: (call) => current(call)[0].now,
  }),
  route(`PUT ${path}/{id}`, {
    ...changes,
    summary: "Change a source, as rudder-cli does",
    body: SourceChange,
    example: { params, body: { enabled: true }, answer },
    handle: async (context) => tagged(sourceAnswer(await updateSource(context))),
  }),
  route(`DELETE ${path}/{id}`, {
    ...changes,
    summary: "Delete a source with its connections, as rudder-cli does",
    answer: Type.Undefined(),
    status: 204,
    example: { params: { id: example.ids.otherSource }, answer: undefined },
    async handle({ deps, workspaceId, params }) {
      await deps.catalog.sources.remove(workspaceId, params.id);
      return undefined;
    },
  }),
  route(`PUT ${path}/{id}/external-id`, {
    ...changes,
    summary: "Set the id by which rudder-cli knows a source",
    body: Type.Object({ externalId: ExternalId }),
    example: { params, body: { externalId: "shop" }, answer: { ...answer, externalId: "shop" } },
    handle: async ({ deps, workspaceId, params, body }) =>
      tagged(sourceAnswer(await deps.catalog.sources.update(workspaceId, params.id, body))),
  }),
] as const;

type NewSourceCall = Omit<ResourceCall<"/", Static<typeof NewSource>>, "params">;

function createSource({ deps, workspaceId, body }: NewSourceCall): Promise<StoredSource> {
  const fields = { ...changedFields(body), name: body.name.trim() };
  return deps.catalog.sources.create(workspaceId, fields);
}

type SourceChangeCall = ResourceCall<"/{id}", Static<typeof SourceChange>>;

function updateSource({ deps, workspaceId, params, body }: SourceChangeCall) {
  return deps.catalog.sources.update(workspaceId, params.id, changedFields(body));
}

/** Returns the source fields that a request sets. A config of null becomes an empty object. */
function changedFields({ name, config, ...others }: Partial<Static<typeof NewSource>>) {
  return {
    ...others,
    ...(name !== undefined && { name: name.trim() }),
    ...(config !== undefined && { config: config ?? {} }),
  };
}

function sourceAnswer(source: StoredSource): Static<typeof Source> {
  const { typeAs: type = source.type } = source;
  return answerOf(Source, { ...source, type, settings: settingsOfSource(source) });
}
