import { type Static, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { Catalog } from "../../../catalog/catalog.ts";
import type { CatalogPage } from "../../../catalog/model.ts";
import type { RouteDeps } from "../../deps.ts";
import { pagingOf } from "../../response/paging.ts";
import { type RequestContext, type Route, type RouteKey, route } from "../../route.ts";
import { ExternalId, enveloped, paged, type pageQuery } from "../../schema/common.ts";

interface ResourceOptions<Singular, Plural, Item extends TSchema, Stored> {
  /** Name of one item and name of a list of items, as in paths and JSON. */
  singular: Singular;
  plural: Plural;
  schema: Item;
  example: Static<Item> & { id: string };
  answer(stored: Stored, deps: RouteDeps): Static<Item>;
}

type Item<Name extends string, S extends TSchema> = ReturnType<typeof enveloped<Name, S>>;
type List<Name extends string, S extends TSchema> = ReturnType<typeof paged<Name, S>>;
/** Query schema of a route without query parameters. */
type NoQuery = Record<never, never>;
/** Request context of a route on one item, with a body of the given schema. */
type BodyContext<Body extends TSchema> = RequestContext<"/{id}", NoQuery, Static<Body>>;

const externalIdBody = Type.Object({ externalId: ExternalId });
type ExternalIdBody = typeof externalIdBody;

function adminRoute<
  Key extends RouteKey,
  Query extends TProperties,
  Body extends TSchema,
  Answer extends TSchema,
>(
  key: string,
  options: {
    summary: string;
    aliases?: readonly `/${string}`[];
    query?: TProperties;
    body?: TSchema;
    answer: TSchema;
    status?: 201 | 204;
    example: { params?: { id: string }; body?: unknown; answer: unknown };
    handle(
      context: RequestContext<"/{id}", { page?: number; hasExternalId?: boolean }, never>,
    ): unknown;
  },
): Route<Key, Query, Body, Answer> {
  // TypeScript cannot relate the computed keys of an envelope to the resource's literal names.
  const made = route(key as RouteKey, { needs: ["workspace:admin"], ...options } as never);
  return made as unknown as Route<Key, Query, Body, Answer>;
}

/**
 * Returns functions that create the `/v2` routes of one kind of item, such as sources. The routes
 * share the form of bodies and paths, the examples and the permission `workspace:admin`. Each
 * function takes a function that selects the part of the catalog with the items.
 */
export function resource<
  const Singular extends string,
  const Plural extends string,
  S extends TSchema,
  Stored,
>({ singular, plural, schema, example, answer }: ResourceOptions<Singular, Plural, S, Stored>) {
  const item = enveloped(singular, schema);
  const params = { id: example.id };
  const itemExample = { [singular]: example };
  const enclose = (stored: Stored, deps: RouteDeps) => ({ [singular]: answer(stored, deps) });

  return {
    list: <Query extends typeof pageQuery>(options: {
      summary?: string;
      query: Query;
      from(catalog: Catalog): {
        list(workspaceId: string, page: number, hasExternalId?: boolean): CatalogPage<Stored>;
      };
    }): Route<`GET /v2/${Plural}`, Query, TSchema, List<Plural, S>> =>
      adminRoute(`GET /v2/${plural}`, {
        summary: options.summary ?? `List ${plural}`,
        aliases: [`/${plural}`],
        query: options.query,
        answer: paged(plural, schema),
        example: { answer: { [plural]: [example], paging: { total: 1 } } },
        handle({ deps, workspaceId, query: { page = 1, hasExternalId } }) {
          const found = options.from(deps.catalog).list(workspaceId, page, hasExternalId);
          return {
            [plural]: found.items.map((stored) => answer(stored, deps)),
            paging: pagingOf(`/${plural}`, page, found, { hasExternalId }),
          };
        },
      }),

    create: <Body extends TSchema>(options: {
      summary: string;
      body: Body;
      example: Static<Body>;
      create(context: Omit<BodyContext<Body>, "params">): Promise<Stored>;
    }): Route<`POST /v2/${Plural}`, NoQuery, Body, Item<Singular, S>> =>
      adminRoute(`POST /v2/${plural}`, {
        summary: options.summary,
        body: options.body,
        answer: item,
        status: 201,
        example: { body: options.example, answer: itemExample },
        handle: async (context) => enclose(await options.create(context), context.deps),
      }),

    retrieve: (
      from: (catalog: Catalog) => { get(workspaceId: string, id: string): Stored },
    ): Route<`GET /v2/${Plural}/{id}`, NoQuery, TSchema, Item<Singular, S>> =>
      adminRoute(`GET /v2/${plural}/{id}`, {
        summary: `Retrieve a ${singular}`,
        answer: item,
        example: { params, answer: itemExample },
        handle: ({ deps, workspaceId, params }) =>
          enclose(from(deps.catalog).get(workspaceId, params.id), deps),
      }),

    update: <Body extends TSchema>(options: {
      summary: string;
      body: Body;
      example: Static<Body>;
      update(context: BodyContext<Body>): Promise<Stored>;
    }): Route<`PUT /v2/${Plural}/{id}`, NoQuery, Body, Item<Singular, S>> =>
      adminRoute(`PUT /v2/${plural}/{id}`, {
        summary: options.summary,
        body: options.body,
        answer: item,
        example: { params, body: options.example, answer: itemExample },
        handle: async (context) => enclose(await options.update(context), context.deps),
      }),

    remove: (
      summary: string,
      from: (catalog: Catalog) => { remove(workspaceId: string, id: string): Promise<void> },
    ): Route<`DELETE /v2/${Plural}/{id}`, NoQuery, TSchema, ReturnType<typeof Type.Undefined>> =>
      adminRoute(`DELETE /v2/${plural}/{id}`, {
        summary,
        answer: Type.Undefined(),
        status: 204,
        example: { params, answer: undefined },
        async handle({ deps, workspaceId, params }) {
          await from(deps.catalog).remove(workspaceId, params.id);
        },
      }),

    setExternalId: (
      exampleId: string,
      update: (context: BodyContext<ExternalIdBody>) => Promise<Stored>,
    ): Route<`PUT /v2/${Plural}/{id}/external-id`, NoQuery, ExternalIdBody, Item<Singular, S>> =>
      adminRoute(`PUT /v2/${plural}/{id}/external-id`, {
        summary: `Set the id by which an external tool knows a ${singular}`,
        body: externalIdBody,
        answer: item,
        example: {
          params,
          body: { externalId: exampleId },
          answer: { [singular]: { ...example, externalId: exampleId } },
        },
        handle: async (context) => enclose(await update(context), context.deps),
      }),
  };
}
