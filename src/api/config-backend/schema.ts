import { Type } from "@sinclair/typebox";
import { component, text } from "../../settings/schema-types.ts";
import { AnyObject, nullable, Time } from "../schema/common.ts";

/** This file has the schema of rudder-server's configuration. rudder-server ignores keys' case. */

const ServerDestination = component("ServerDestination", {
  id: Type.String(),
  name: Type.String(),
  enabled: Type.Boolean(),
  isProcessorEnabled: Type.Boolean(),
  isConnectionEnabled: Type.Boolean(),
  workspaceId: Type.String(),
  revisionId: text("Another one after each change"),
  config: Type.Record(Type.String(), Type.Unknown(), {
    description: "With secrets in clear, and with the values for the type of the source",
  }),
  secretConfig: AnyObject,
  transformations: Type.Array(
    Type.Object({
      id: Type.String(),
      versionId: Type.String(),
      language: text("javascript or pythonfaas"),
      config: AnyObject,
    }),
  ),
  createdAt: Time,
  updatedAt: Time,
  deleted: Type.Boolean(),
  destinationDefinition: Type.Object({
    id: Type.String(),
    name: Type.String(),
    displayName: Type.String(),
    category: nullable(Type.String()),
    config: AnyObject,
  }),
});

const ServerSource = component("ServerSource", {
  id: Type.String(),
  name: Type.String(),
  writeKey: Type.String(),
  enabled: Type.Boolean(),
  workspaceId: Type.String(),
  config: AnyObject,
  sourceDefinition: Type.Object({
    id: Type.String(),
    name: Type.String(),
    displayName: Type.String(),
    type: Type.String(),
    category: nullable(Type.String()),
  }),
  transient: Type.Optional(Type.Boolean()),
  geoEnrichment: Type.Optional(Type.Object({ enabled: Type.Boolean() })),
  createdAt: Time,
  updatedAt: Time,
  deleted: Type.Boolean(),
  destinations: Type.Array(ServerDestination, {
    description: "Those that rudder-server delivers",
  }),
});

export const ServerConfig = Type.Object(
  {
    enableMetrics: Type.Boolean(),
    workspaceId: Type.String(),
    sources: Type.Array(ServerSource),
    libraries: Type.Array(Type.Object({ versionId: Type.String() }), {
      description: "Published versions",
    }),
    credentials: Type.Record(
      Type.String(),
      Type.Object({ key: Type.String(), value: Type.String(), isSecret: Type.Boolean() }),
    ),
    connections: Type.Record(
      Type.String(),
      Type.Object({
        sourceId: Type.String(),
        destinationId: Type.String(),
        enabled: Type.Boolean(),
        processorEnabled: Type.Boolean(),
        config: AnyObject,
      }),
    ),
    updatedAt: Time,
  },
  {
    $id: "ServerConfig",
    description: "Has the secrets of destinations and credentials in clear",
  },
);

export const exampleConfig = {
  enableMetrics: false,
  workspaceId: "01JD3Q5W8FJ0ZC9N7T2YVKXH4M1",
  sources: [],
  libraries: [{ versionId: "01JD3Q8D2E4T6Y8H0K2M4P6R8S1" }],
  credentials: {},
  connections: {},
  updatedAt: "2026-02-16T01:11:11.586Z",
};
