import { type Static, Type } from "@sinclair/typebox";
import type {
  DestinationFilter,
  Destination as StoredDestination,
} from "../../../catalog/model.ts";
import { defined } from "../../../defined.ts";
import {
  CONSENT_IDS_MAX,
  FILTER_CHARS_MAX,
  FILTER_CONDITIONS_MAX,
  FILTER_VALUES_MAX,
  ID_CHARS_MAX,
} from "../../../settings/limits.ts";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import type { ApiDeps } from "../../deps.ts";
import { searched, textQuery } from "../../request/list-query.ts";
import {
  answerOf,
  ExternalId,
  hasExternalIdQuery,
  Name,
  nullable,
  pageQuery,
  SecretsSet,
  Time,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import {
  configAnswer,
  expectForms,
  expectWhole,
  formsOf,
  newType,
  resolveConfig,
  secretsSet,
} from "./destination-config.ts";
import { resource } from "./resource.ts";

export const Config = Type.Record(Type.String(), Type.Unknown(), {
  $id: "DestinationConfig",
  description:
    "Settings of the type; secrets are write-only (`to` of a secret header is answered empty, and kept when it is sent so; secret parts of a URL are answered as `***`, and kept likewise), null removes a setting or a secret",
});

const versionDescription =
  "Version of RudderStack's definition of the type, 1 unless a client sends another; has no effect";
const Version = Type.Integer({ minimum: 0, maximum: 1_000_000, description: versionDescription });

const ConsentIds = Type.Array(Type.String({ minLength: 1, maxLength: ID_CHARS_MAX }), {
  maxItems: CONSENT_IDS_MAX,
  description:
    "Consents that the destination needs. It gets no event that lists one of them in `context.consentManagement.deniedConsentIds`",
});

const DeliveredBy = oneOf(["pixelmill", "rudder-server"], {
  description:
    "Who delivers its events. pixelmill shows no figures of those that rudder-server delivers",
});

const EventFilter = Type.Object(
  {
    mode: oneOf(["only", "except"], {
      description: "`only`: events that meet all conditions; `except`: all other events",
    }),
    conditions: Type.Array(
      Type.Object(
        {
          path: Type.String({
            minLength: 1,
            maxLength: FILTER_CHARS_MAX,
            description: "A field of the event as received: `type`, `event`, `properties.plan`",
          }),
          values: Type.Array(Type.String({ maxLength: FILTER_CHARS_MAX }), {
            minItems: 1,
            maxItems: FILTER_VALUES_MAX,
            description: "The field's text is one of them; `*` at the end stands for any text",
          }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: FILTER_CONDITIONS_MAX },
    ),
  },
  {
    $id: "EventFilter",
    additionalProperties: false,
    description: "Which events the destination gets; without one, all events of its connections",
  },
);

const Destination = component("Destination", {
  id: Type.String(),
  workspaceId: Type.String(),
  name: Type.String(),
  type: text("As it was written at creation"),
  deliveredBy: DeliveredBy,
  version: Type.Integer({ description: versionDescription }),
  enabled: Type.Boolean(),
  consentIds: Type.Optional(ConsentIds),
  filter: Type.Optional(EventFilter),
  endpoint: Type.Optional(
    text("Where the events go, without secrets: a URL, a bucket, a topic, a database or a file"),
  ),
  config: Config,
  secretsSet: SecretsSet,
  externalId: Type.Optional(ExternalId),
  transformation: Type.Optional(Type.Object({ id: Type.String() })),
  createdAt: Time,
  updatedAt: Time,
});

const NewDestination = component("NewDestination", {
  name: Name,
  type: text(
    "webhook, file, s3, postgres, clickhouse or kafka, in any case; or a type that rudder-server delivers",
  ),
  deliveredBy: Type.Optional(DeliveredBy),
  version: Type.Optional(Version),
  config: Type.Optional(nullable(Config)),
  enabled: Type.Optional(Type.Boolean()),
  consentIds: Type.Optional(ConsentIds),
  filter: Type.Optional(EventFilter),
  externalId: Type.Optional(ExternalId),
});

const DestinationChange = Type.Object(
  {
    name: Type.Optional(Name),
    version: Type.Optional(Version),
    config: Type.Optional(nullable(Config)),
    enabled: Type.Optional(Type.Boolean()),
    consentIds: Type.Optional(ConsentIds),
    filter: Type.Optional(nullable(EventFilter)),
  },
  {
    $id: "DestinationChange",
    description:
      "An absent field keeps its value; a new config keeps the secrets it leaves out, unless it would " +
      "send them to another host: then it has to have them. A disabled destination's config may lack " +
      "required settings; it is enabled only with all of them",
  },
);

const destinations = resource({
  singular: "destination",
  plural: "destinations",
  schema: Destination,
  example: example.destination,
  answer: destinationAnswer,
  table: (catalog) => catalog.destinations,
});

export const destinationRoutes = [
  destinations.list({
    query: { ...pageQuery, ...hasExternalIdQuery, ...textQuery },
    from: ({ destinations }, { text }, slicing) => searched(destinations, text, slicing),
  }),
  destinations.create({
    summary: "Create a destination",
    body: NewDestination,
    example: { name: "Warehouse hook", type: "webhook", config: example.destination.config },
    create({ deps, workspaceId, body }) {
      const { type, forms, ...delivery } = newType(deps, body);
      const { enabled, consentIds, filter, externalId } = body;
      return deps.catalog.destinations.create(workspaceId, {
        name: body.name.trim(),
        type,
        ...(body.type !== type && { typeAs: body.type }),
        ...delivery,
        config: resolveConfig(forms, body.config ?? {}, {}, enabled ?? true),
        // Clients written in Go send 0 when they have no version.
        ...(body.version && { version: body.version }),
        ...defined({ enabled, consentIds, filter, externalId }),
      });
    },
  }),
  destinations.retrieve(),
  destinations.update({
    summary: "Change a destination",
    body: DestinationChange,
    example: { enabled: true },
    async update({ deps, workspaceId, params, body }) {
      const { name, version, enabled, consentIds, filter, config } = body;
      const change = {
        ...(version && { version }),
        ...(name !== undefined && { name: name.trim() }),
        ...defined({ enabled, consentIds, filter }),
        ...((config !== undefined || enabled === true) && {
          config: (before: StoredDestination) => {
            const forms = expectForms(deps, before.type);
            const isEnabled = enabled ?? before.enabled;
            if (config !== undefined) {
              return resolveConfig(forms, config ?? {}, before.config, isEnabled);
            }
            expectWhole(forms, before.config);
            return before.config;
          },
        }),
      };
      const logEnds = await deps.pipeline.logEnds();
      return deps.catalog.destinations.update(workspaceId, params.id, change, logEnds);
    },
  }),
  destinations.remove("Delete a destination with its connections; its transformation stays"),

  destinations.setExternalId("warehouse-hook", async ({ deps, workspaceId, params, body }) => {
    const logEnds = await deps.pipeline.logEnds();
    return deps.catalog.destinations.update(workspaceId, params.id, body, logEnds);
  }),
] as const;

function destinationAnswer(
  destination: StoredDestination,
  deps: ApiDeps,
): Static<typeof Destination> {
  const { catalog, headers } = deps;
  const { type, typeAs = type, deliveredBy = "pixelmill", version = 1 } = destination;
  const { consentIds, filter, ...stored } = destination;
  const transformationId = catalog.code.linkedTransformation(destination);
  const forms = formsOf(deps, type);
  const endpoint = deps.kinds.get(type)?.endpoint?.(destination.config);
  return answerOf(Destination, {
    ...stored,
    type: typeAs,
    deliveredBy,
    version,
    consentIds,
    ...(filter !== undefined && { filter: filterAnswer(filter) }),
    ...(endpoint && { endpoint }),
    config: forms === undefined ? {} : configAnswer(forms, destination.config, headers),
    secretsSet: forms === undefined ? [] : secretsSet(forms, destination.config),
    ...(transformationId !== undefined && { transformation: { id: transformationId } }),
  });
}

function filterAnswer({ mode, conditions }: DestinationFilter) {
  return { mode, conditions: conditions.map(({ path, values }) => ({ path, values })) };
}
