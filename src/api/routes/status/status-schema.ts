import { type Static, Type } from "@sinclair/typebox";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import { Stage, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

/** This file has schemas and examples of the state of sources, destinations and connections. */

export const Rates = Type.Object(
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

export const SourceStatus = component("SourceStatus", {
  id: Type.String(),
  name: Type.String(),
  enabled: Type.Boolean(),
  receivedPerSecond: Type.Number({ description: "By the connected destinations" }),
});

/**
 * States of a destination, most urgent first. If several apply, the first of them is shown.
 * - `blocked`: the server itself delivers nothing to the destination now
 * - `lagging`: the oldest pending event is older than `OVERVIEW_LAG_SECONDS_MIN`
 * - `external`: rudder-server delivers, so pixelmill knows nothing more
 */
export const destinationStates = [
  "down",
  "failing",
  "suspended",
  "blocked",
  "waiting",
  "lagging",
  "paused",
  "unknown",
  "unconnected",
  "ok",
  "external",
] as const;

export const DestinationState = oneOf(destinationStates);

export const DestinationStatus = component("DestinationStatus", {
  id: Type.String(),
  name: Type.String(),
  type: Type.String(),
  deliveredBy: oneOf(["pixelmill", "rudder-server"], {
    description: "The figures are 0 where it is rudder-server, which delivers by itself",
  }),
  enabled: Type.Boolean(),
  transformationId: Type.Optional(Type.String()),
  state: DestinationState,
  since: Type.Optional({ ...Time, description: "No successful delivery since then" }),
  reason: Type.Optional(
    text("Of the last failed or refused attempt, or why the server delivers nothing"),
  ),
  lagEvents: Type.Integer({ description: "Events that have not settled" }),
  lagSeconds: Type.Number({ description: "Age of the oldest of them" }),
  rates: Rates,
  rejecting: Type.Boolean({
    description: "Some events fail although others are accepted; false once that has ended",
  }),
  deadLetters: Type.Integer(),
});

export const ConnectionStatus = component("ConnectionStatus", {
  id: Type.String(),
  sourceId: Type.String(),
  destinationId: Type.String(),
  enabled: Type.Boolean(),
  rates: Rates,
});

export const DestinationRow = component("DestinationRow", {
  ...DestinationStatus.properties,
  transformationName: Type.Optional(Type.String()),
  lastError: Type.Optional(
    Type.Object(
      { reason: Type.String(), at: Time, stage: Stage },
      { description: "The failure that lasts, or the latest reason of its dead letters" },
    ),
  ),
});

export const ConnectionRow = component("ConnectionRow", {
  ...ConnectionStatus.properties,
  sourceName: Type.String(),
  destinationName: Type.String(),
  destinationState: DestinationState,
  rejecting: Type.Boolean({ description: "The destination rejects some of its events" }),
  lagEvents: Type.Integer({ description: "Of the destination" }),
  lagSeconds: Type.Number(),
});

export const SourceRow = component("SourceRow", {
  ...SourceStatus.properties,
  lastReceivedAt: Type.Optional({
    ...Time,
    description: "Start of the last minute, or of the last hour after a day, with an event",
  }),
});

export const LinkedTransformation = Type.Object({
  id: Type.String(),
  versionId: Type.String(),
  name: Type.String(),
  language: Type.String(),
  suspended: Type.Optional(Type.Object({ until: Time, reason: Type.String() })),
});

export type LinkedTransformation = Static<typeof LinkedTransformation>;

export const Named = Type.Object({ id: Type.String(), name: Type.String() });

export const exampleRates = { received: 12.5, delivered: 12, dropped: 0.5, failed: 0 };

export const exampleSource = {
  id: example.ids.source,
  name: "Shop",
  enabled: true,
  receivedPerSecond: 12.5,
};

export const exampleDestination = {
  id: example.destination.id,
  name: example.destination.name,
  type: "webhook",
  deliveredBy: "pixelmill" as const,
  enabled: true,
  transformationId: example.ids.transformation,
  state: "ok" as const,
  lagEvents: 3,
  lagSeconds: 0.2,
  rates: exampleRates,
  rejecting: false,
  deadLetters: 1,
};

export const exampleConnection = {
  id: example.ids.connection,
  sourceId: example.ids.source,
  destinationId: example.destination.id,
  enabled: true,
  rates: exampleRates,
};
