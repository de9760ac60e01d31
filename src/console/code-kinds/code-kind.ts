import type { AnswerOf, QueryOf } from "../../api/client.ts";
import type { IconName } from "../components/icon.tsx";
import type { ListPage, ListQuery } from "../components/list-screen.tsx";
import type { Permission } from "../data/model.ts";
import { client } from "../data/session.ts";
import { codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";

type Transformation = AnswerOf<"GET /transformations/{id}">;
export type Revision = Omit<
  AnswerOf<"GET /transformations/{id}/versions/{versionId}">,
  "codeVersion"
> & { importName?: string };
/**
 * A transformation or library, represented by its published revision. If it was never published,
 * its draft represents it.
 */
export type CodeItem = Revision &
  Pick<Transformation, "destinations" | "warnings" | "publishedVersionId">;
/** An item of the list of transformations or libraries. */
export type ListedCode = AnswerOf<"GET /v2/code">["code"][number];
type CodeListQuery = QueryOf<"GET /v2/code">;
export type Language = Revision["language"];

interface CodeInput {
  name: string;
  description: string;
  code: string;
  language: Language;
}

type Events = Record<string, unknown>[];

interface CodeChange {
  code: string;
  description: string;
  /** Events that test a transformation when it is published. */
  events?: Events;
  /** Why the code is changed. */
  note?: string;
}

/**
 * Labels and requests for one kind of code: transformations or libraries. The same screens edit and
 * publish both kinds.
 */
export interface CodeKindInfo {
  /** Name of the screen for this kind of code. It is the first segment of the screen's routes. */
  screen: "transformations" | "libraries";
  singular: string;
  /** Title of the screen of one while its name is unknown. */
  heading: string;
  title: string;
  icon: IconName;
  createPermission: Permission;
  editPermission: Permission;
  /** Lists published items, then the drafts that were never published. */
  list(query: ListQuery): Promise<ListPage<ListedCode>>;
  createDraft(input: CodeInput): Promise<CodeItem>;
  /** Resolves with the newest revision, published or not, and the header ETag of the state. */
  getNewest(id: string): Promise<{ answer: CodeItem; tag: string | undefined }>;
  getPublished(id: string): Promise<CodeItem>;
  getRevision(id: string, versionId: string): Promise<Revision>;
  /** Lists the latest `count` revisions, newest first. */
  listRevisions(id: string, count: number): Promise<Revision[]>;
  save(
    id: string,
    change: CodeChange & { language: Language },
    publish: boolean,
    ifMatch: string | undefined,
  ): Promise<CodeItem>;
  /**
   * Publishes a revision after a test with `events`. Without `events`, the test uses the events
   * that were saved with the revision.
   */
  publish(
    versionId: string,
    ifMatch: string | undefined,
    more: Pick<CodeChange, "events" | "note">,
  ): Promise<{ warnings?: string[] }>;
  remove(id: string, ifMatch: string | undefined): Promise<unknown>;
}

async function listCode(
  kind: CodeListQuery["kind"],
  query: ListQuery,
): Promise<ListPage<ListedCode>> {
  // The server refuses an order that it does not have.
  const typed = { ...query, kind } as CodeListQuery;
  const { code, total } = await client.call("GET /v2/code", { query: typed });
  return { items: code, total };
}

const newestFirst = (count: number) => ({ count, orderBy: "desc" as const });

export const transformations: CodeKindInfo = {
  screen: "transformations",
  singular: codeTexts.transformationNoun,
  heading: commonTexts.transformation,
  title: commonTexts.transformations,
  icon: "code",
  createPermission: "transformations:create-delete",
  editPermission: "transformations:edit",
  list: (query) => listCode("transformation", query),
  createDraft: (body) => client.call("POST /transformations", { body }),
  getNewest: (id) =>
    client.callTagged("GET /transformations/{id}", { params: { id }, query: { draft: true } }),
  getPublished: (id) => client.call("GET /transformations/{id}", { params: { id } }),
  getRevision: (id, versionId) =>
    client.call("GET /transformations/{id}/versions/{versionId}", { params: { id, versionId } }),
  listRevisions: async (id, count) => {
    const key = "GET /transformations/{id}/versions";
    const { TransformationVersions } = await client.call(key, {
      params: { id },
      query: newestFirst(count),
    });
    return TransformationVersions;
  },
  save: (id, { language: _, ...change }, publish, ifMatch) =>
    client.call("POST /transformations/{id}", {
      params: { id },
      query: { publish },
      body: change,
      ifMatch,
    }),
  publish: (versionId, ifMatch, { events, note }) =>
    client.call("POST /libraries/publish", {
      body: {
        transformations: [{ versionId, ...(events && { testInput: events }) }],
        ...(note && { note }),
      },
      ifMatch,
    }),
  remove: (id, ifMatch) => client.call("DELETE /transformations/{id}", { params: { id }, ifMatch }),
};

export const libraries: CodeKindInfo = {
  screen: "libraries",
  singular: codeTexts.libraryNoun,
  heading: codeTexts.library,
  title: commonTexts.libraries,
  icon: "library",
  createPermission: "libraries:edit",
  editPermission: "libraries:edit",
  list: (query) => listCode("library", query),
  createDraft: (body) => client.call("POST /libraries", { body }),
  getNewest: (id) =>
    client.callTagged("GET /libraries/{id}", { params: { id }, query: { draft: true } }),
  getPublished: (id) => client.call("GET /libraries/{id}", { params: { id } }),
  getRevision: (id, versionId) =>
    client.call("GET /libraries/{id}/versions/{versionId}", { params: { id, versionId } }),
  listRevisions: async (id, count) => {
    const key = "GET /libraries/{id}/versions";
    const { libraryVersions } = await client.call(key, {
      params: { id },
      query: newestFirst(count),
    });
    return libraryVersions;
  },
  save: (id, { events: _, ...change }, publish, ifMatch) =>
    client.call("POST /libraries/{id}", {
      params: { id },
      query: { publish },
      body: change,
      ifMatch,
    }),
  publish: (versionId, ifMatch, { note }) =>
    client.call("POST /libraries/publish", {
      body: { libraries: [versionId], ...(note && { note }) },
      ifMatch,
    }),
  remove: (id, ifMatch) => client.call("DELETE /libraries/{id}", { params: { id }, ifMatch }),
};

export const isPython = (language: Language) => language !== "javascript";
/** Returns the editor's language mode for the language of user code. */
export const editorLanguage = (language: Language) =>
  isPython(language) ? ("python" as const) : ("javascript" as const);
export const languageName = (language: Language) =>
  isPython(language) ? commonTexts.python : commonTexts.javaScript;

/**
 * The transformation or library that the page shows and edits. All tabs of the page use this
 * object.
 */
export interface CodeContext {
  kind: CodeKindInfo;
  /**
   * The revision that the editor begins with: the newest one, or the published one after a
   * rollback to it.
   */
  newest: Revision;
  /** Id of the newest revision, which a rollback may have replaced by an older one. */
  newestVersionId: string;
  /** Header ETag of the state that the page shows. */
  tag: string | undefined;
  /** The published revision; undefined when no revision is published. */
  published: CodeItem | undefined;
  /**
   * Loads the newest and the published revision again. Called after a save, a publication or a new
   * link.
   */
  reload: () => Promise<void>;
  /** Line number, counted from 1, to which the editor moves. */
  line?: number | undefined;
  /** Whether the page opens with a new test case for the latest sample event. */
  isNewTestCase?: boolean;
}
