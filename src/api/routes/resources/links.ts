import { type Static, Type } from "@sinclair/typebox";
import type { Catalog } from "../../../catalog/catalog.ts";
import { ApiError } from "../../../errors.ts";
import { component } from "../../../settings/schema-types.ts";
import { currentState, tagged } from "../../entity-tag.ts";
import { type ResourceCall, route } from "../../route.ts";
import { Id, isoTime, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

const Link = component("Link", {
  destinationId: Type.String(),
  transformationId: Type.String(),
  createdAt: Time,
  updatedAt: Time,
});

const params = { id: example.ids.destination };
const answer = {
  destinationId: example.ids.destination,
  transformationId: example.ids.transformation,
  createdAt: example.destination.createdAt,
  updatedAt: example.destination.updatedAt,
};

/**
 * Returns a list with the current link of a destination to a transformation. The list is empty if
 * the destination has no link.
 */
function current({ deps, workspaceId, params }: ResourceCall<"/{id}", unknown>) {
  const { catalog } = deps;
  const destination = catalog.destinations.get(workspaceId, params.id);
  if (catalog.code.linkedTransformation(destination) === undefined) return [];
  const link = linkAnswer(catalog, workspaceId, destination.id);
  return [currentState("link", tagged(link), link)];
}

const needs = ["transformations:connect", "destinations:connect"] as const;
const changes = { needs, readsInChange: true, current } as const;

export const linkRoutes = [
  route("GET /v2/destinations/{id}/transformation", {
    summary: "Retrieve which transformation a destination is connected to",
    needs: [],
    answer: Link,
    current,
    example: { params, answer },
    handle: ({ deps, workspaceId, params }) =>
      tagged(linkAnswer(deps.catalog, workspaceId, params.id)),
  }),

  route("PUT /v2/destinations/{id}/transformation", {
    ...changes,
    summary: "Connect a destination to a published transformation, in place of any other",
    body: Type.Object({ transformationId: Id }),
    answer: Link,
    example: { params, body: { transformationId: example.ids.transformation }, answer },
    async handle({ deps, workspaceId, params, body }) {
      const { catalog } = deps;
      return catalog.code.link(workspaceId, body.transformationId, params.id, () =>
        tagged(linkAnswer(catalog, workspaceId, params.id)),
      );
    },
  }),

  route("DELETE /v2/destinations/{id}/transformation", {
    ...changes,
    summary: "Disconnect a destination from its transformation",
    answer: Type.Undefined(),
    status: 204,
    example: { params, answer: undefined },
    async handle({ deps, workspaceId, params }) {
      await deps.catalog.code.clearLink(workspaceId, params.id);
      return undefined;
    },
  }),
] as const;

function linkAnswer(
  { code, destinations }: Catalog,
  workspaceId: string,
  destinationId: string,
): Static<typeof Link> {
  const transformationId = code.linkedTransformation(destinations.get(workspaceId, destinationId));
  const at = code.linkedAt(workspaceId, destinationId);
  if (transformationId === undefined || at === undefined) {
    throw new ApiError("missing", "The destination has no transformation");
  }
  // A link never changes after its creation, so that both times are equal.
  return { destinationId, transformationId, createdAt: isoTime(at), updatedAt: isoTime(at) };
}
