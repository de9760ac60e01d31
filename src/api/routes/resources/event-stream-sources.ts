import { Type } from "@sinclair/typebox";
import { currentState, tagged } from "../../entity-tag.ts";
import { pagingOf } from "../../response/paging.ts";
import { type ResourceCall, route } from "../../route.ts";
import { ExternalId, hasExternalIdQuery, paged, pageQuery } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import {
  createSource,
  NewSource,
  Source,
  SourceChange,
  sourceAnswer,
  updateSource,
} from "./sources.ts";

/**
 * This file defines the routes of sources under the path that rudder-cli uses. A response with one
 * source has no envelope; in a response with a list, the key of the list is `data`.
 */

const path = "/v2/event-stream-sources";
const params = { id: example.ids.source };
const answer = example.source;

function current({ deps, workspaceId, params }: ResourceCall<"/{id}", unknown>) {
  const source = sourceAnswer(deps.catalog.sources.get(workspaceId, params.id));
  return [currentState("source", tagged(source), source)];
}

const shared = { needs: ["workspace:admin"], answer: Source } as const;
const changes = { ...shared, readsInChange: true, current } as const;

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
    handle: ({ deps, workspaceId, params }) =>
      tagged(sourceAnswer(deps.catalog.sources.get(workspaceId, params.id))),
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
