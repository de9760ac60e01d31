import { type Static, Type } from "@sinclair/typebox";
import type { Connection as StoredConnection } from "../../../catalog/model.ts";
import { pagingOf } from "../../response/paging.ts";
import { route } from "../../route.ts";
import {
  ExternalId,
  enveloped,
  hasExternalIdQuery,
  Id,
  isoTime,
  paged,
  pageQuery,
  Time,
} from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

const Connection = Type.Object(
  {
    id: Type.String(),
    sourceId: Type.String(),
    destinationId: Type.String(),
    enabled: Type.Boolean(),
    externalId: Type.Optional(ExternalId),
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: "Connection" },
);

const NewConnection = Type.Object(
  {
    sourceId: Id,
    destinationId: Id,
    enabled: Type.Optional(Type.Boolean()),
    externalId: Type.Optional(ExternalId),
  },
  { $id: "NewConnection" },
);
const ConnectionChange = Type.Object(
  { enabled: Type.Optional(Type.Boolean()) },
  { $id: "ConnectionChange", description: "Its source and destination are fixed at creation" },
);

const params = { id: example.ids.connection };
const answer = { connection: example.connection };

export const connectionRoutes = [
  route("GET /v2/connections", {
    summary: "List connections of sources to destinations",
    aliases: ["/connections"],
    needs: ["workspace:admin"],
    query: { ...pageQuery, ...hasExternalIdQuery },
    answer: paged("connections", Connection),
    example: { answer: { connections: [example.connection], paging: { total: 1 } } },
    handle({ deps, workspaceId, query: { page = 1, hasExternalId } }) {
      const found = deps.catalog.connections.list(workspaceId, page, hasExternalId);
      return {
        connections: found.items.map(connectionAnswer),
        paging: pagingOf("/connections", page, found, { hasExternalId }),
      };
    },
  }),

  route("POST /v2/connections", {
    summary: "Connect a source to a destination: events from now on are delivered",
    needs: ["workspace:admin"],
    body: NewConnection,
    answer: enveloped("connection", Connection),
    status: 201,
    example: {
      body: { sourceId: example.ids.source, destinationId: example.ids.destination },
      answer,
    },
    async handle({ deps, workspaceId, body }) {
      const logEnds = await deps.pipeline.logEnds();
      const connection = await deps.catalog.connections.create(workspaceId, body, logEnds);
      return { connection: connectionAnswer(connection) };
    },
  }),

  route("GET /v2/connections/{id}", {
    summary: "Retrieve a connection",
    needs: ["workspace:admin"],
    answer: enveloped("connection", Connection),
    example: { params, answer },
    handle: ({ deps, workspaceId, params }) => ({
      connection: connectionAnswer(deps.catalog.connections.get(workspaceId, params.id)),
    }),
  }),

  route("PUT /v2/connections/{id}", {
    summary: "Enable or disable a connection",
    needs: ["workspace:admin"],
    body: ConnectionChange,
    answer: enveloped("connection", Connection),
    example: { params, body: { enabled: false }, answer },
    async handle({ deps, workspaceId, params, body }) {
      const { connections } = deps.catalog;
      const logEnds = await deps.pipeline.logEnds();
      const connection = await connections.update(workspaceId, params.id, body, logEnds);
      return { connection: connectionAnswer(connection) };
    },
  }),

  route("DELETE /v2/connections/{id}", {
    summary: "Delete a connection",
    needs: ["workspace:admin"],
    answer: Type.Undefined(),
    status: 204,
    example: { params, answer: undefined },
    async handle({ deps, workspaceId, params }) {
      await deps.catalog.connections.remove(workspaceId, params.id);
      return undefined;
    },
  }),

  route("PUT /v2/connections/{id}/external-id", {
    summary: "Set the id by which an external tool knows a connection",
    needs: ["workspace:admin"],
    body: Type.Object({ externalId: ExternalId }),
    answer: enveloped("connection", Connection),
    example: {
      params,
      body: { externalId: "shop-to-hook" },
      answer: { connection: { ...example.connection, externalId: "shop-to-hook" } },
    },
    async handle({ deps, workspaceId, params, body: { externalId } }) {
      const { connections } = deps.catalog;
      const logEnds = await deps.pipeline.logEnds();
      const connection = await connections.update(workspaceId, params.id, { externalId }, logEnds);
      return { connection: connectionAnswer(connection) };
    },
  }),
] as const;

function connectionAnswer(connection: StoredConnection): Static<typeof Connection> {
  const { id, sourceId, destinationId, enabled, externalId, createdAt, updatedAt } = connection;
  return {
    id,
    sourceId,
    destinationId,
    enabled,
    ...(externalId !== undefined && { externalId }),
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
