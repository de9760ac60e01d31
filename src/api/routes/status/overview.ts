import { type Static, Type } from "@sinclair/typebox";
import { lastHour } from "../../../pipeline/monitoring/lane-history.ts";
import { OVERVIEW_ITEMS_MAX } from "../../../settings/limits.ts";
import { route } from "../../route.ts";
import { isoTime, MissingNodes, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { countedMinutes } from "./node-status.ts";
import { destinationStates, workspaceOverview } from "./workspace-overview.ts";

const Rates = Type.Object(
  {
    received: Type.Number(),
    delivered: Type.Number(),
    dropped: Type.Number({ description: "By code" }),
    failed: Type.Number({ description: "Became dead letters" }),
  },
  {
    $id: "Rates",
    description: "Events per second over the last minute; outputs of code count each",
  },
);

const Problem = Type.Object(
  {
    kind: Type.Union(
      [
        "not-ready",
        "warning",
        "node-missing",
        "destination-down",
        "destination-failing",
        "suspended",
        "dead-letters",
      ].map((it) => Type.Literal(it)),
    ),
    message: Type.String(),
    destinationId: Type.Optional(Type.String()),
    transformationId: Type.Optional(Type.String()),
    count: Type.Optional(Type.Integer()),
    since: Type.Optional(Time),
  },
  { $id: "Problem", description: "What needs a person" },
);

const Overview = Type.Object(
  {
    sources: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        enabled: Type.Boolean(),
        receivedPerSecond: Type.Number({ description: "By the connected destinations" }),
      }),
    ),
    transformations: Type.Array(
      Type.Object({
        id: Type.String(),
        versionId: Type.String(),
        name: Type.String(),
        language: Type.String(),
        suspended: Type.Optional(Type.Object({ until: Time, reason: Type.String() })),
      }),
      { description: "Those that a destination has" },
    ),
    destinations: Type.Array(
      Type.Object({
        id: Type.String(),
        name: Type.String(),
        type: Type.String(),
        enabled: Type.Boolean(),
        transformationId: Type.Optional(Type.String()),
        state: Type.Union(destinationStates.map((it) => Type.Literal(it))),
        since: Type.Optional({ ...Time, description: "Nothing got through since then" }),
        reason: Type.Optional(
          Type.String({ description: "Of the last failed or refused attempt" }),
        ),
        lagEvents: Type.Integer({ description: "Events that have not settled" }),
        lagSeconds: Type.Number({ description: "Age of the oldest of them" }),
        rates: Rates,
        deadLetters: Type.Integer(),
      }),
    ),
    connections: Type.Array(
      Type.Object({
        id: Type.String(),
        sourceId: Type.String(),
        destinationId: Type.String(),
        enabled: Type.Boolean(),
        rates: Rates,
      }),
    ),
    totals: Type.Object({
      sources: Type.Integer(),
      destinations: Type.Integer(),
      connections: Type.Integer(),
      deadLetters: Type.Integer(),
    }),
    problems: Type.Array(Problem),
    missingNodes: MissingNodes,
  },
  { $id: "Overview", description: `The first ${OVERVIEW_ITEMS_MAX} of each kind` },
);

const Minute = Type.Object(
  {
    at: { ...Time, description: "When the minute began" },
    delivered: Type.Integer(),
    dropped: Type.Integer(),
    failed: Type.Integer({ description: "Became dead letters" }),
    retried: Type.Integer({ description: "Attempts that failed and are made again" }),
    attempts: Type.Integer(),
    p50Ms: Type.Optional(Type.Integer({ description: "Of the attempts' times, rounded up" })),
    p99Ms: Type.Optional(Type.Integer()),
  },
  { $id: "Minute" },
);

const exampleRates = { received: 12.5, delivered: 12, dropped: 0.5, failed: 0 };
const { id, name } = example.destination;

export const overviewRoutes = [
  route("GET /v2/overview", {
    summary: "Tell what sources, code and destinations do now, and what needs a person",
    needs: ["events:read"],
    answersFigures: true,
    answer: Overview,
    example: {
      answer: {
        sources: [{ id: example.ids.source, name: "Shop", enabled: true, receivedPerSecond: 12.5 }],
        transformations: [
          {
            id: example.ids.transformation,
            versionId: example.ids.transformationVersion,
            name: example.transformation.name,
            language: "javascript",
          },
        ],
        destinations: [
          {
            id,
            name,
            type: "webhook",
            enabled: true,
            transformationId: example.ids.transformation,
            state: "ok",
            lagEvents: 3,
            lagSeconds: 0.2,
            rates: exampleRates,
            deadLetters: 1,
          },
        ],
        connections: [
          {
            id: example.ids.connection,
            sourceId: example.ids.source,
            destinationId: id,
            enabled: true,
            rates: exampleRates,
          },
        ],
        totals: { sources: 1, destinations: 1, connections: 1, deadLetters: 1 },
        problems: [
          {
            kind: "dead-letters",
            message: "Warehouse hook has 1 dead letter",
            destinationId: id,
            count: 1,
          },
        ],
      },
    },
    handle: ({ deps, workspaceId }): Promise<Static<typeof Overview>> =>
      workspaceOverview(deps, workspaceId),
  }),

  route("GET /v2/destinations/{id}/history", {
    summary: "Tell what a destination did in each minute of the last hour, as far as remembered",
    needs: ["events:read"],
    answersFigures: true,
    answer: Type.Object({
      minutes: Type.Array(Minute, { description: "Oldest first; the last one is under way" }),
      missingNodes: MissingNodes,
    }),
    example: {
      params: { id },
      answer: {
        minutes: [
          {
            at: "2026-02-16T01:11:00.000Z",
            delivered: 720,
            dropped: 30,
            failed: 0,
            retried: 1,
            attempts: 721,
            p50Ms: 18,
            p99Ms: 87,
          },
        ],
      },
    },
    async handle({ deps, workspaceId, params: { id } }) {
      const { id: destinationId } = deps.catalog.destinations.get(workspaceId, id);
      const { counted, missingNodes } = await countedMinutes(deps, workspaceId, destinationId);
      const minutes = lastHour(counted, Date.now());
      return {
        minutes: minutes.map(({ at, ...counts }) => ({ at: isoTime(at), ...counts })),
        ...(missingNodes.length > 0 && { missingNodes }),
      };
    },
  }),
] as const;
