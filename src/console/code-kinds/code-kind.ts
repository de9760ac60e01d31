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
 * A transformation or library with the fields of its published revision. They are the fields of the
 * newest revision instead if the request asks for it, or if no revision was ever published.
 */
export type CodeItem = Revision &
  Pick<Transformation, "destinations" | "warnings" | "publishedVersionId">;
/** An entry for a transformation or library in the API's list of all code. */
export type ListedCode = AnswerOf<"GET /v2/code">["code"][number];
type CodeListQuery = QueryOf<"GET /v2/code">;
export type Language = Revision["language"];

type CodeInput = Pick<Revision, "name" | "description" | "code" | "language">;

interface CodeChange extends Omit<CodeInput, "name"> {
  /** Test events to save with a transformation. Each publication runs the code on them. */
  events?: Record<string, unknown>[];
  /** Reason for the change, as the user has written it. */
  note?: string;
}

/**
 * Labels and API requests for one kind of code: transformations or libraries. The screens that edit
 * and publish code work for both kinds, because they get such an object as a parameter.
 */
export type CodeKindInfo = ReturnType<typeof codeKind>;

/**
 * Returns a revision with the line ends of its code converted to line feeds, which the editor uses.
 * Without this, code with Windows line ends would differ from the editor's text and count as
 * unsaved.
 */
export const withLineFeeds = <Code extends Pick<Revision, "code">>(revision: Code): Code => ({
  ...revision,
  code: revision.code.replace(/\r\n?/g, "\n"),
});

const newestFirst = (count: number) => ({ count, orderBy: "desc" as const });

interface CodeLabels {
  singular: string;
  /** Title of the page of one transformation or library while its name is not loaded yet. */
  heading: string;
  title: string;
  icon: IconName;
  createPermission: Permission;
  editPermission: Permission;
}

function codeKind(kind: "transformation" | "library", labels: CodeLabels) {
  const isLibrary = kind === "library";
  /** Name of the screen for this kind of code. It is the first segment of the screen's routes. */
  const screen: "libraries" | "transformations" = isLibrary ? "libraries" : "transformations";
  // Both kinds have the same routes. `CodeItem` and `Revision` name the fields of both answers.
  const path = screen as "transformations";
  return {
    ...labels,
    screen,
    /** Lists the published items of the kind, then the drafts that were never published. */
    async list(query: ListQuery): Promise<ListPage<ListedCode>> {
      // The server refuses an order that it does not support.
      const typed = { ...query, kind } as CodeListQuery;
      const { code, total } = await client.call("GET /v2/code", { query: typed });
      return { items: code, total };
    },
    createDraft: (body: CodeInput): Promise<CodeItem> => client.call(`POST /${path}`, { body }),
    /** Resolves with the newest revision, published or not, and its ETag (`tag`). */
    async getNewest(id: string): Promise<{ answer: CodeItem; tag: string | undefined }> {
      const request = { params: { id }, query: { draft: true } };
      const { answer, tag } = await client.callTagged(`GET /${path}/{id}`, request);
      return { answer: withLineFeeds(answer), tag };
    },
    getPublished: async (id: string): Promise<CodeItem> =>
      withLineFeeds(await client.call(`GET /${path}/{id}`, { params: { id } })),
    async getRevision(id: string, versionId: string): Promise<Revision> {
      const request = { params: { id, versionId } };
      return withLineFeeds(await client.call(`GET /${path}/{id}/versions/{versionId}`, request));
    },
    /** Lists the latest `count` revisions of a transformation or library, newest first. */
    async listRevisions(id: string, count: number): Promise<Revision[]> {
      const request = { params: { id }, query: newestFirst(count) };
      // The only member of the answer has a different name for each kind.
      const answer = await client.call(`GET /${path}/{id}/versions`, request);
      return Object.values(answer).flat().map(withLineFeeds);
    },
    save(
      id: string,
      { language, events, ...change }: CodeChange,
      publish: boolean,
      ifMatch: string | undefined,
    ): Promise<CodeItem> {
      const body = { ...change, ...(isLibrary ? { language } : events && { events }) };
      const request = { params: { id }, query: { publish }, body, ifMatch };
      return client.call(`POST /${path}/{id}`, request);
    },
    /**
     * Tests a revision with `events`, and publishes it if the test succeeds. Without `events`, the
     * test uses the events that were saved with the revision.
     */
    publish(
      versionId: string,
      ifMatch: string | undefined,
      { events, note }: Pick<CodeChange, "events" | "note">,
    ): Promise<{ warnings?: string[] }> {
      const revisions = isLibrary
        ? { libraries: [versionId] }
        : { transformations: [{ versionId, ...(events && { testInput: events }) }] };
      const body = { ...revisions, ...(note && { note }) };
      return client.call("POST /libraries/publish", { body, ifMatch });
    },
    remove: (id: string, ifMatch: string | undefined) =>
      client.call(`DELETE /${path}/{id}`, { params: { id }, ifMatch }),
  };
}

export const transformations = codeKind("transformation", {
  singular: codeTexts.transformationNoun,
  heading: commonTexts.transformation,
  title: commonTexts.transformations,
  icon: "code",
  createPermission: "transformations:create-delete",
  editPermission: "transformations:edit",
});

export const libraries = codeKind("library", {
  singular: codeTexts.libraryNoun,
  heading: codeTexts.library,
  title: commonTexts.libraries,
  icon: "library",
  createPermission: "libraries:edit",
  editPermission: "libraries:edit",
});

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
   * Revision with which the editor starts. After a rollback this is the published revision, which
   * is older than the one that was saved last. Without a rollback it is the newest.
   */
  newest: Revision;
  /**
   * Id of the revision that was saved last. It is the id of `newest`, except after a rollback:
   * `newest` is then the older revision that was published again.
   */
  newestVersionId: string;
  /**
   * ETag of the transformation or library as the page shows it. A request that changes the code
   * sends this ETag as If-Match, so that it does not overwrite other users' changes.
   */
  tag: string | undefined;
  /**
   * The published revision. Undefined if none was ever published, or if the transformation or
   * library was deleted.
   */
  published: CodeItem | undefined;
  /**
   * Whether the transformation or library was deleted. Its revisions can still be read. Publishing
   * a revision restores the transformation or library.
   */
  isDeleted: boolean;
  /**
   * Loads the newest and the published revision again. Called after code was saved or published,
   * and after a destination was linked.
   */
  reload: () => Promise<void>;
  /** Line, counted from 1, to which the editor moves the cursor when the page opens. */
  line?: number | undefined;
  /** Whether the page opens with a new test case, whose input is the newest of `sampleEvents`. */
  isNewTestCase?: boolean;
}
