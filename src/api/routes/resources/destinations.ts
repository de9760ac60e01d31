import { type Static, Type } from "@sinclair/typebox";
import type { Destination as StoredDestination } from "../../../catalog/model.ts";
import type { DestinationKind } from "../../../destinations/destination.ts";
import { testSteps } from "../../../destinations/test-steps.ts";
import { CONNECTION_TEST_MS_MAX } from "../../../settings/limits.ts";
import type { ApiDeps } from "../../deps.ts";
import { validationError } from "../../request/validation.ts";
import { route } from "../../route.ts";
import {
  ExternalId,
  hasExternalIdQuery,
  isoTime,
  Name,
  nullable,
  pageQuery,
  Time,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { configAnswer, expectWhole, missingKeys, resolveConfig } from "./destination-config.ts";
import { resource } from "./resource.ts";

const Config = Type.Record(Type.String(), Type.Unknown(), {
  $id: "DestinationConfig",
  description:
    "Settings of the type; secrets are write-only (`to` of a secret header is answered empty, and kept when it is sent so; secret parts of a URL are answered as `***`, and kept likewise), null removes a setting",
});

const versionDescription =
  "Version of RudderStack's definition of the type, 1 unless a client sends another; has no effect";
const Version = Type.Integer({ minimum: 0, maximum: 1_000_000, description: versionDescription });

const Destination = Type.Object(
  {
    id: Type.String(),
    workspaceId: Type.String(),
    name: Type.String(),
    type: Type.String({ description: "As it was written at creation" }),
    version: Type.Integer({ description: versionDescription }),
    enabled: Type.Boolean(),
    config: Config,
    externalId: Type.Optional(ExternalId),
    transformation: Type.Optional(Type.Object({ id: Type.String() })),
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: "Destination" },
);

const NewDestination = Type.Object(
  {
    name: Name,
    type: Type.String({
      description: "webhook, file, s3, postgres, clickhouse or kafka, in any case",
    }),
    version: Type.Optional(Version),
    config: Type.Optional(nullable(Config)),
    enabled: Type.Optional(Type.Boolean()),
    externalId: Type.Optional(ExternalId),
  },
  { $id: "NewDestination" },
);

const DestinationChange = Type.Object(
  {
    name: Type.Optional(Name),
    version: Type.Optional(Version),
    config: Type.Optional(nullable(Config)),
    enabled: Type.Optional(Type.Boolean()),
  },
  {
    $id: "DestinationChange",
    description:
      "What is absent keeps its value; a new config keeps the secrets it leaves out, unless it would " +
      "send them to another host: then it has to have them. A disabled destination's config may lack " +
      "required settings; it is enabled only with all of them",
  },
);

const ConnectionTest = Type.Object(
  {
    ok: Type.Boolean({ description: "Whether every step went well" }),
    steps: Type.Array(
      Type.Object({
        step: Type.Union(testSteps.map((step) => Type.Literal(step))),
        ok: Type.Boolean(),
        message: Type.Optional(
          Type.String({ description: "Why the step failed, or what else to know" }),
        ),
        durationMs: Type.Integer({ minimum: 0 }),
      }),
      { description: "In their order, up to the first that failed; a type has some of them" },
    ),
  },
  {
    $id: "ConnectionTest",
    description:
      "A webhook is sent one event, named Connection test; elsewhere what is written is taken away again",
  },
);

const destinations = resource({
  singular: "destination",
  plural: "destinations",
  schema: Destination,
  example: example.destination,
  answer: destinationAnswer,
});

export const destinationRoutes = [
  destinations.list({
    query: { ...pageQuery, ...hasExternalIdQuery },
    from: (catalog) => catalog.destinations,
  }),
  destinations.create({
    summary: "Create a destination",
    body: NewDestination,
    example: { name: "Warehouse hook", type: "webhook", config: example.destination.config },
    create({ deps, workspaceId, body }) {
      const kind = kindOf(deps, body.type);
      return deps.catalog.destinations.create(workspaceId, {
        name: body.name.trim(),
        type: kind.kind,
        ...(body.type !== kind.kind && { typeAs: body.type }),
        config: resolveConfig(kind, body.config ?? {}, {}, body.enabled ?? true),
        // Clients written in Go send 0 when they have no version.
        ...(body.version && { version: body.version }),
        ...(body.enabled !== undefined && { enabled: body.enabled }),
        ...(body.externalId !== undefined && { externalId: body.externalId }),
      });
    },
  }),
  destinations.retrieve((catalog) => catalog.destinations),
  destinations.update({
    summary: "Change a destination",
    body: DestinationChange,
    example: { enabled: true },
    async update({ deps, workspaceId, params, body }) {
      const { name, version, enabled, config } = body;
      const change = {
        ...(version && { version }),
        ...(name !== undefined && { name: name.trim() }),
        ...(enabled !== undefined && { enabled }),
        ...((config !== undefined || enabled === true) && {
          config: (before: StoredDestination) => {
            const kind = kindOf(deps, before.type);
            const isEnabled = enabled ?? before.enabled;
            if (config !== undefined) {
              return resolveConfig(kind, config ?? {}, before.config, isEnabled);
            }
            expectWhole(kind, before.config);
            return before.config;
          },
        }),
      };
      const logEnds = await deps.pipeline.logEnds();
      return deps.catalog.destinations.update(workspaceId, params.id, change, logEnds);
    },
  }),
  destinations.remove(
    "Delete a destination with its connections; its transformation stays",
    (catalog) => catalog.destinations,
  ),

  route("POST /v2/destinations/{id}/test", {
    summary: "Try out the settings of a destination, step by step",
    isLong: true,
    needs: ["workspace:admin"],
    answer: ConnectionTest,
    example: {
      params: { id: example.ids.destination },
      answer: {
        ok: false,
        steps: [
          { step: "resolve", ok: true, durationMs: 4 },
          { step: "connect", ok: true, durationMs: 21 },
          { step: "tls", ok: true, durationMs: 33 },
          { step: "write", ok: false, message: "The receiver answered 401", durationMs: 48 },
        ],
      },
    },
    async handle({ deps, workspaceId, params, closing }) {
      const { type, config } = deps.catalog.destinations.get(workspaceId, params.id);
      const [missing] = missingKeys(kindOf(deps, type), config);
      if (missing !== undefined) {
        const message = `${missing.path.slice(1)}: ${missing.message}`;
        return { ok: false, steps: [{ step: testSteps[0], ok: false, message, durationMs: 0 }] };
      }
      using _permit = deps.limiters.connectionTests.acquire(workspaceId);
      const late = new Error(`The test did not end within ${CONNECTION_TEST_MS_MAX} ms`);
      const time = new AbortController();
      const timer = setTimeout(() => time.abort(late), CONNECTION_TEST_MS_MAX);
      try {
        const signal = AbortSignal.any([time.signal, closing]);
        const steps = await kindOf(deps, type).test(config, workspaceId, signal);
        return { ok: steps.every(({ ok }) => ok), steps };
      } finally {
        clearTimeout(timer);
      }
    },
  }),

  destinations.setExternalId("warehouse-hook", async ({ deps, workspaceId, params, body }) => {
    const logEnds = await deps.pipeline.logEnds();
    return deps.catalog.destinations.update(workspaceId, params.id, body, logEnds);
  }),
] as const;

function kindOf({ kinds }: ApiDeps, type: string): DestinationKind {
  const kind = kinds.get(type.toLowerCase());
  if (kind) return kind;
  const message = `Expected one of ${[...kinds.keys()].join(", ")}, got another type`;
  throw validationError([{ path: "/type", message }]);
}

function destinationAnswer(
  destination: StoredDestination,
  { kinds, catalog, headers }: ApiDeps,
): Static<typeof Destination> {
  const { id, workspaceId, name, type, typeAs = type } = destination;
  const { version = 1, enabled, externalId } = destination;
  const transformationId = catalog.code.linkedTransformation(destination.workspaceId, id);
  const kind = kinds.get(type);
  return {
    id,
    workspaceId,
    name,
    type: typeAs,
    version,
    enabled,
    config: kind === undefined ? {} : configAnswer(kind, destination.config, headers),
    ...(externalId !== undefined && { externalId }),
    ...(transformationId !== undefined && { transformation: { id: transformationId } }),
    createdAt: isoTime(destination.createdAt),
    updatedAt: isoTime(destination.updatedAt),
  };
}
