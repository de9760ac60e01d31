import { Type } from "@sinclair/typebox";
import type { ConnectionInput } from "../../../catalog/management/connections.ts";
import { component } from "../../../settings/schema-types.ts";
import { filtered } from "../../request/list-query.ts";
import type { ResourceCall } from "../../route.ts";
import { ExternalId, hasExternalIdQuery, Id, pageQuery, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { resource } from "./resource.ts";

const Connection = component("Connection", {
  id: Type.String(),
  workspaceId: Type.String(),
  sourceId: Type.String(),
  destinationId: Type.String(),
  enabled: Type.Boolean(),
  externalId: Type.Optional(ExternalId),
  createdAt: Time,
  updatedAt: Time,
});

const NewConnection = component("NewConnection", {
  sourceId: Id,
  destinationId: Id,
  enabled: Type.Optional(Type.Boolean()),
  externalId: Type.Optional(ExternalId),
});
const ConnectionChange = Type.Object(
  {
    sourceId: Type.Optional(Id),
    destinationId: Type.Optional(Id),
    enabled: Type.Optional(Type.Boolean()),
  },
  {
    $id: "ConnectionChange",
    description:
      "An absent field keeps its value. With another source or destination, events from now on go " +
      "there, and what the old destination was still owed is discarded",
  },
);

const connections = resource({
  singular: "connection",
  plural: "connections",
  schema: Connection,
  example: example.connection,
  table: (catalog) => catalog.connections,
});

export const connectionRoutes = [
  connections.list({
    summary: "List connections of sources to destinations",
    query: {
      ...pageQuery,
      ...hasExternalIdQuery,
      sourceId: Type.Optional(Id),
      destinationId: Type.Optional(Id),
    },
    from: ({ connections }, { sourceId, destinationId }, slicing) => {
      if (sourceId === undefined && destinationId === undefined) return connections;
      const each = (workspaceId: string) =>
        connections.eachOf(workspaceId, { sourceId, destinationId });
      return filtered(each, () => true, slicing);
    },
  }),
  connections.create({
    summary: "Connect a source to a destination: events from now on are delivered",
    body: NewConnection,
    example: { sourceId: example.ids.source, destinationId: example.ids.destination },
    async create({ deps, workspaceId, body }) {
      return deps.catalog.connections.create(workspaceId, body, await deps.pipeline.logEnds());
    },
  }),
  connections.retrieve(),
  connections.update({
    summary:
      "Enable or disable a connection, give it another source or destination, or restore one that " +
      "went with them",
    body: ConnectionChange,
    example: { enabled: false },
    update: changeConnection,
  }),
  connections.remove("Delete a connection"),
  connections.setExternalId("shop-to-hook", changeConnection),
] as const;

type ConnectionChangeCall = ResourceCall<"/{id}", Partial<ConnectionInput>>;

async function changeConnection({ deps, workspaceId, params, body }: ConnectionChangeCall) {
  const logEnds = await deps.pipeline.logEnds();
  return deps.catalog.connections.update(workspaceId, params.id, body, logEnds);
}
