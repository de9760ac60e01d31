import { type Static, Type } from "@sinclair/typebox";
import type { Source as StoredSource } from "../catalog/model.ts";
import * as example from "./examples.ts";
import { pagingOf } from "./paging.ts";
import { route } from "./route.ts";
import { AnyObject, enveloped, Name, paged, pageQuery, Time } from "./schemas.ts";
import { isoTime } from "./shapes.ts";

const Source = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: Type.Literal("http"),
    writeKey: Type.String({ description: "Authenticates pixels: a credential" }),
    enabled: Type.Boolean(),
    config: AnyObject,
    createdAt: Time,
    updatedAt: Time,
  },
  { $id: "Source" },
);

const changeable = { enabled: Type.Optional(Type.Boolean()), config: Type.Optional(AnyObject) };
const NewSource = Type.Object(
  {
    name: Name,
    type: Type.Optional(Type.Union([Type.Literal("http"), Type.Literal("HTTP")])),
    ...changeable,
  },
  { $id: "NewSource" },
);
const SourceChange = Type.Object(
  { name: Type.Optional(Name), ...changeable },
  { $id: "SourceChange", description: "What is absent keeps its value" },
);

const params = { id: example.ids.source };
const answer = { source: example.source };

export const sourceRoutes = [
  route("GET /v2/sources", {
    summary: "List sources",
    needs: ["workspace:admin"],
    query: pageQuery,
    answer: paged("sources", Source),
    example: { answer: { sources: [example.source], paging: { total: 1 } } },
    handle({ parts, workspaceId, query: { page = 1 } }) {
      const found = parts.catalog.sources.list(workspaceId, page);
      return {
        sources: found.items.map(sourceAnswer),
        paging: pagingOf("/sources", page, found),
      };
    },
  }),

  route("POST /v2/sources", {
    summary: "Create an HTTP source with a write key of its own",
    needs: ["workspace:admin"],
    body: NewSource,
    answer: enveloped("source", Source),
    status: 201,
    example: { body: { name: "Shop", type: "http" }, answer },
    async handle({ parts, workspaceId, body }) {
      const input = { ...body, name: body.name.trim() };
      return { source: sourceAnswer(await parts.catalog.sources.create(workspaceId, input)) };
    },
  }),

  route("GET /v2/sources/{id}", {
    summary: "Retrieve a source",
    needs: ["workspace:admin"],
    answer: enveloped("source", Source),
    example: { params, answer },
    handle: ({ parts, workspaceId, params }) => ({
      source: sourceAnswer(parts.catalog.sources.get(workspaceId, params.id)),
    }),
  }),

  route("PUT /v2/sources/{id}", {
    summary: "Change a source",
    needs: ["workspace:admin"],
    body: SourceChange,
    answer: enveloped("source", Source),
    example: { params, body: { enabled: true }, answer },
    async handle({ parts, workspaceId, params, body }) {
      const input = { ...body, ...(body.name !== undefined && { name: body.name.trim() }) };
      const source = await parts.catalog.sources.update(workspaceId, params.id, input);
      return { source: sourceAnswer(source) };
    },
  }),

  route("DELETE /v2/sources/{id}", {
    summary: "Delete a source with its connections",
    needs: ["workspace:admin"],
    answer: Type.Undefined(),
    status: 204,
    example: { params, answer: undefined },
    async handle({ parts, workspaceId, params }) {
      await parts.catalog.sources.remove(workspaceId, params.id);
      return undefined;
    },
  }),

  route("POST /v2/sources/{id}/rotate-write-key", {
    summary: "Give a source a new write key; the old one stops at once",
    needs: ["workspace:admin"],
    answer: enveloped("source", Source),
    example: { params, answer },
    async handle({ parts, workspaceId, params }) {
      const source = await parts.catalog.sources.rotateWriteKey(workspaceId, params.id);
      return { source: sourceAnswer(source) };
    },
  }),
] as const;

function sourceAnswer(source: StoredSource): Static<typeof Source> {
  const { id, name, type, writeKey, enabled, config, createdAt, updatedAt } = source;
  return {
    id,
    name,
    type,
    writeKey,
    enabled,
    config,
    createdAt: isoTime(createdAt),
    updatedAt: isoTime(updatedAt),
  };
}
