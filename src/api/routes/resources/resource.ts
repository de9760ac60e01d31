import { type Static, type TObject, type TProperties, type TSchema, Type } from "@sinclair/typebox";
import type { Catalog } from "../../../catalog/catalog.ts";
import type { RouteDeps } from "../../deps.ts";
import { type CurrentResource, currentState, tagged } from "../../entity-tag.ts";
import type { ItemList, Slicing } from "../../request/list-query.ts";
import { pagingOf } from "../../response/paging.ts";
import {
  type RequestContext,
  type ResourceCall,
  type Route,
  type RouteKey,
  route,
} from "../../route.ts";
import { answerOf, ExternalId, enveloped, paged, type pageQuery } from "../../schema/common.ts";

interface ResourceOptions<Singular, Plural, Path, Item extends TObject, Stored> {
  /** Names of one item and of several items in paths and JSON, such as `source` and `sources`. */
  singular: Singular;
  plural: Plural;
  /** Path of the list, relative to `/v2/`. Default: `plural`. */
  path?: Path;
  schema: Item;
  example: Static<Item> & { id: string };
  /** Returns an item as responses show it. By default, the item with the fields of `schema`. */
  answer?(stored: Stored, deps: RouteDeps): Static<Item>;
  /**
   * Returns the part of an item's answer from which the item's entity tag is computed. Default: the
   * whole answer.
   */
  state?(answer: Static<Item>): unknown;
  /**
   * Returns the stored items of the kind for which `resource` creates routes. `get` and `remove`
   * throw `missing` if the workspace has no item with the id.
   */
  table(catalog: Catalog): ItemList<Stored> & {
    get(workspaceId: string, id: string): Stored;
    remove(workspaceId: string, id: string): Promise<void>;
  };
}

type Item<Name extends string, S extends TSchema> = ReturnType<typeof enveloped<Name, S>>;
type List<Name extends string, S extends TSchema> = ReturnType<typeof paged<Name, S>>;
/** Query parameters of lists. Each kind of list supports some of them. */
interface ListQuery {
  page?: number;
  hasExternalId?: boolean;
  text?: string;
  sourceId?: string;
  destinationId?: string;
}
/** Query schema of a route without query parameters. */
type NoQuery = Record<never, never>;
type ItemCall = ResourceCall<"/{id}", unknown>;
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
    creates?: boolean;
    readsInChange?: boolean;
    current?(call: ItemCall): readonly CurrentResource[];
    example: { params?: { id: string }; body?: unknown; answer: unknown };
    handle(context: RequestContext<"/{id}", ListQuery, never>): unknown;
  },
): Route<Key, Query, Body, Answer> {
  // TypeScript cannot relate the computed keys of an envelope to the resource's literal names.
  const made = route(key as RouteKey, { needs: ["workspace:admin"], ...options } as never);
  return made as unknown as Route<Key, Query, Body, Answer>;
}

/**
 * Returns functions that create the `/v2` routes to list, create, read, change and delete one kind
 * of item, such as sources. The routes need the permission `workspace:admin`.
 */
export function resource<
  const Singular extends string,
  const Plural extends string,
  S extends TObject,
  Stored,
  const Path extends string = Plural,
>(options: ResourceOptions<Singular, Plural, Path, S, Stored>) {
  const { singular, plural, path = plural, schema, example } = options;
  const { state = (it) => it, table } = options;
  const { answer = (stored: Stored) => answerOf(schema, stored as never) } = options;
  const item = enveloped(singular, schema);
  const params = { id: example.id };
  const itemExample = { [singular]: example };
  const enclose = (stored: Stored, deps: RouteDeps) => {
    const shown = answer(stored, deps);
    return tagged({ [singular]: shown } as { [K in Singular]: Static<S> }, state(shown));
  };
  const current = ({ deps, workspaceId, params: { id } }: ItemCall) => {
    const now = enclose(table(deps.catalog).get(workspaceId, id), deps);
    return [currentState(singular, now, now.answer[singular] as { updatedAt?: string })] as const;
  };
  const changes = { current, readsInChange: true };

  return {
    current,
    enclose,

    list: <Query extends typeof pageQuery>(options: {
      summary?: string;
      query: Query;
      /**
       * Returns the items that match a query, as an `ItemList` from which pages are taken. Default:
       * all items of the kind.
       */
      from?(catalog: Catalog, query: ListQuery, slicing: Slicing): ItemList<Stored>;
    }): Route<`GET /v2/${Path}`, Query, TSchema, List<Plural, S>> =>
      adminRoute(`GET /v2/${path}`, {
        summary: options.summary ?? `List ${plural}`,
        aliases: [`/${path}`],
        query: options.query,
        answer: paged(plural, schema),
        example: { answer: { [plural]: [example], paging: { total: 1 } } },
        async handle({ deps, workspaceId, query, request: { signal } }) {
          const { page = 1, ...filter } = query;
          const slicing = { slices: deps.limiters.listSlices, signal };
          const list = options.from?.(deps.catalog, query, slicing) ?? table(deps.catalog);
          const found = await list.list(workspaceId, page, filter.hasExternalId);
          return {
            [plural]: found.items.map((stored) => answer(stored, deps)),
            paging: pagingOf(`/${path}`, page, found, filter),
          };
        },
      }),

    create: <Body extends TSchema>(options: {
      summary: string;
      body: Body;
      example: Static<Body>;
      /**
       * Option `readsInChange` of the route, which promises that `create` reads the catalog only in
       * the transaction of its change, or after it. Default: true.
       */
      readsInChange?: boolean;
      create(context: Omit<BodyContext<Body>, "params">): Promise<Stored>;
    }): Route<`POST /v2/${Path}`, NoQuery, Body, Item<Singular, S>> =>
      adminRoute(`POST /v2/${path}`, {
        summary: options.summary,
        body: options.body,
        answer: item,
        status: 201,
        creates: true,
        readsInChange: options.readsInChange ?? true,
        example: { body: options.example, answer: itemExample },
        handle: async (context) => enclose(await options.create(context), context.deps),
      }),

    retrieve: (): Route<`GET /v2/${Path}/{id}`, NoQuery, TSchema, Item<Singular, S>> =>
      adminRoute(`GET /v2/${path}/{id}`, {
        summary: `Retrieve a ${singular}`,
        answer: item,
        current,
        example: { params, answer: itemExample },
        handle: (context) => current(context)[0].now,
      }),

    update: <Body extends TSchema>(options: {
      summary: string;
      body: Body;
      example: Static<Body>;
      update(context: BodyContext<Body>): Promise<Stored>;
    }): Route<`PUT /v2/${Path}/{id}`, NoQuery, Body, Item<Singular, S>> =>
      adminRoute(`PUT /v2/${path}/{id}`, {
        ...changes,
        summary: options.summary,
        body: options.body,
        answer: item,
        example: { params, body: options.example, answer: itemExample },
        handle: async (context) => enclose(await options.update(context), context.deps),
      }),

    remove: (
      summary: string,
    ): Route<`DELETE /v2/${Path}/{id}`, NoQuery, TSchema, ReturnType<typeof Type.Undefined>> =>
      adminRoute(`DELETE /v2/${path}/{id}`, {
        ...changes,
        summary,
        answer: Type.Undefined(),
        status: 204,
        example: { params, answer: undefined },
        async handle({ deps, workspaceId, params }) {
          await table(deps.catalog).remove(workspaceId, params.id);
        },
      }),

    setExternalId: (
      exampleId: string,
      update: (context: BodyContext<ExternalIdBody>) => Promise<Stored>,
    ): Route<`PUT /v2/${Path}/{id}/external-id`, NoQuery, ExternalIdBody, Item<Singular, S>> =>
      adminRoute(`PUT /v2/${path}/{id}/external-id`, {
        ...changes,
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
