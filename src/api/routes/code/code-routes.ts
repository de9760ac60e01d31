import { type Static, type TArray, type TObject, Type } from "@sinclair/typebox";
import type { CodeStore } from "../../../catalog/code/code.ts";
import type { ResourceRevision } from "../../../catalog/code/code-changes.ts";
import type { CodeKind, Revision } from "../../../catalog/model.ts";
import { VERSIONS_COUNT_DEFAULT, VERSIONS_COUNT_MAX } from "../../../settings/limits.ts";
import { oneOf, optionalFlag, optionalInteger } from "../../../settings/schema-types.ts";
import { currentState, tagged } from "../../entity-tag.ts";
import { streamList } from "../../response/list-stream.ts";
import type { RequestContext, ResourceCall } from "../../route.ts";
import {
  ExternalId,
  enveloped,
  hasExternalIdQuery,
  publishQuery,
  Success,
} from "../../schema/common.ts";
import { currentCode, taggedCode } from "./current-code.ts";
import { type AnsweredCode, type CodeDeps, listed } from "./revision-answers.ts";

const draftQuery = {
  draft: optionalFlag("The newest revision, published or not, instead of the published one", {
    default: false,
  }),
};

const listQuery = {
  published: optionalFlag("False lists what is not published", { default: true }),
  code: optionalFlag("False leaves out the code", { default: true }),
  ...hasExternalIdQuery,
};

/** Query parameters of lists of revisions: how many revisions to return, and in which order. */
const versionsQuery = {
  count: optionalInteger(1, VERSIONS_COUNT_MAX, { default: VERSIONS_COUNT_DEFAULT }),
  orderBy: Type.Optional(
    oneOf(["asc", "desc"], { default: "asc", description: "By creation; in any case" }),
  ),
};

const externalIdBody = Type.Object({ externalId: ExternalId });

type ItemCall = ResourceCall<"/{id}", unknown>;
type VersionCall = ResourceCall<"/{id}/{versionId}", unknown>;
type ExternalIdCall = ResourceCall<"/{id}", Static<typeof externalIdBody>>;
type Item<Options extends CodeRoutesOptions> = Static<Options["schemas"]["item"]>;
type Version<Options extends CodeRoutesOptions> = Static<Options["schemas"]["version"]>;
type ListQuery = Static<TObject<typeof listQuery>>;
type VersionsQuery = Static<TObject<typeof versionsQuery>>;

interface CodeRoutesOptions {
  kind: CodeKind;
  /**
   * Plural noun that names the items in paths and is the key of their list, such as
   * `transformations`.
   */
  plural: string;
  /**
   * Key of the list of an item's revisions in responses, such as `versions`. The field `noun` is
   * the word for one revision in summaries of routes.
   */
  versions: string;
  noun: "revision" | "version";
  schemas: { item: TObject; listed: TObject; version: TObject };
  /**
   * Examples for the OpenAPI document. `external` is the example of an item that has an external
   * id.
   */
  examples: {
    item: { id: string };
    version: { versionId: string };
    external: { externalId: string };
  };
  /**
   * Returns an item in the form that responses have. If `hasLinks` is false, leaves out the
   * destinations that are linked to the item.
   */
  answer(deps: CodeDeps, found: AnsweredCode, hasLinks?: boolean): { code: string };
  versionAnswer(deps: CodeDeps, revision: Revision): { code: string };
}

/**
 * Returns what the routes of transformations and libraries share: the options of most routes, such
 * as `list`, and the functions that find an item (`current`) and answer with it (`enclose`).
 */
export function codeRoutes<const Options extends CodeRoutesOptions>(options: Options) {
  const { kind, noun, answer } = options;
  const { plural, schemas, examples }: Options = options;
  const params = { id: examples.item.id };
  const current = currentCode(kind);
  const enclose = (deps: CodeDeps, found: AnsweredCode, hasLinks?: boolean) =>
    taggedCode(deps, found.resource, answer(deps, found, hasLinks) as Item<Options>);
  // TypeScript cannot relate the computed keys of the examples to the literal names.
  return {
    current,
    enclose,
    list: {
      summary: `List the published ${plural}, oldest first, or the drafts`,
      needs: [],
      query: listQuery,
      answer: enveloped<Options["plural"], TArray<Options["schemas"]["listed"]>>(
        plural,
        Type.Array(schemas.listed),
      ),
      example: { answer: { [plural]: [examples.item] } as never },
      handle(call: RequestContext<"/", ListQuery, unknown>) {
        const { deps, workspaceId, query } = call;
        const found = listCode(deps.catalog.code, workspaceId, kind, query);
        const answers = found.map((it) => it && listed(answer(deps, it), query.code ?? true));
        return streamList(call, plural, answers);
      },
    },
    retrieve: {
      summary: `Retrieve a published ${kind}, or the newest ${noun} of a draft`,
      needs: [],
      query: draftQuery,
      answer: schemas.item as Options["schemas"]["item"],
      current,
      example: { params, answer: examples.item as never },
      handle(call: RequestContext<"/{id}", { draft?: boolean }, unknown>) {
        const { deps, workspaceId, params, query } = call;
        const { code } = deps.catalog;
        const found = query.draft
          ? code.newestRevision(workspaceId, kind, params.id)
          : code.publishedRevision(workspaceId, kind, params.id);
        return enclose(deps, found);
      },
    },
    remove: {
      readsInChange: true,
      answer: Success,
      current,
      example: { params, answer: { success: true as const } },
      async handle({ deps, workspaceId, params }: ItemCall) {
        await deps.catalog.code.remove(workspaceId, kind, params.id);
        return { success: true as const };
      },
    },
    /** Options of the routes that make a revision. */
    save: {
      isLong: true,
      query: publishQuery,
      hasLargeBody: true,
      answer: schemas.item as Options["schemas"]["item"],
    },

    ...versionRoutes(options),
    setExternalId: {
      summary: `Set the id by which an external tool (rudder-cli) knows a ${kind}`,
      readsInChange: true,
      body: externalIdBody,
      answer: schemas.item as Options["schemas"]["item"],
      current,
      example: {
        params,
        body: { externalId: examples.external.externalId },
        answer: examples.external as never,
      },
      handle({ deps, workspaceId, params, body }: ExternalIdCall) {
        const { code } = deps.catalog;
        return code.setExternalId(workspaceId, kind, params.id, body.externalId, () =>
          enclose(deps, code.newestRevision(workspaceId, kind, params.id), false),
        );
      },
    },
  };
}

/** Returns the options of the routes that list and read the revisions of an item. */
function versionRoutes<const Options extends CodeRoutesOptions>(options: Options) {
  const { kind, noun, versionAnswer } = options;
  const { plural, versions, schemas, examples }: Options = options;
  const params = { id: examples.item.id };
  // The code of a revision never changes, so the entity tag is computed without it.
  const currentRevision = ({ deps, workspaceId, params }: VersionCall) => {
    const { id, versionId } = params;
    const shown = versionAnswer(deps, deps.catalog.code.revision(workspaceId, kind, id, versionId));
    return currentState("revision", tagged(shown as Version<Options>, { ...shown, code: "" }), {});
  };
  return {
    listVersions: {
      summary: `List ${noun}s, of drafts and deleted ${plural} too`,
      needs: [],
      query: versionsQuery,
      answer: enveloped<Options["versions"], TArray<Options["schemas"]["version"]>>(
        versions,
        Type.Array(schemas.version),
      ),
      example: {
        params,
        answer: { [versions]: [examples.version] } as never,
      },
      handle(call: RequestContext<"/{id}", VersionsQuery, unknown>) {
        const { deps, workspaceId, params, query } = call;
        const { code } = deps.catalog;
        const found = code.revisions(workspaceId, kind, params.id, versionsRange(query));
        const answers = found.map((it) => versionAnswer(deps, it));
        return streamList(call, versions, answers);
      },
    },
    retrieveVersion: {
      summary: `Retrieve one ${noun}`,
      needs: [],
      answer: schemas.version as Options["schemas"]["version"],
      current: (call: VersionCall) => [currentRevision(call)],
      example: {
        params: { ...params, versionId: examples.version.versionId },
        answer: examples.version as never,
      },
      handle: (call: VersionCall) => currentRevision(call).now,
    },
  };
}

/**
 * Yields a workspace's published transformations or libraries, or its drafts. `hasExternalId`
 * selects items with (true) or without (false) an external id. In place of the others, yields
 * undefined, so that `streamList` can pause.
 */
export function listCode(
  code: CodeStore,
  workspaceId: string,
  kind: CodeKind,
  { published = true, hasExternalId }: ListQuery,
): IteratorObject<ResourceRevision | undefined> {
  const all = published
    ? code.listPublished(workspaceId, kind)
    : code.listDrafts(workspaceId, kind);
  if (hasExternalId === undefined) return all;
  return all.map((it) =>
    (it.resource.externalId !== undefined) === hasExternalId ? it : undefined,
  );
}

export function versionsRange(query: VersionsQuery) {
  return { count: query.count ?? VERSIONS_COUNT_DEFAULT, order: query.orderBy ?? "asc" };
}
