import { type AnswerOf, RequestRefused } from "../../api/client.ts";
import type { IconName } from "../components/icon.tsx";
import type { Permission } from "../data/model.ts";
import { client } from "../data/session.ts";

type Transformation = AnswerOf<"GET /transformations/{id}">;
export type Revision = Omit<
  AnswerOf<"GET /transformations/{id}/versions/{versionId}">,
  "codeVersion"
> & { importName?: string };
/**
 * A transformation or library, represented by its published revision. If it was never published,
 * its draft represents it.
 */
export type CodeItem = Revision & Pick<Transformation, "destinations" | "warnings">;
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
}

/**
 * Labels and requests for one kind of code: transformations or libraries. The same screens edit and
 * publish both kinds.
 */
export interface CodeKindInfo {
  /** Name of the screen for this kind of code. It is the first segment of the screen's routes. */
  screen: "transformations" | "libraries";
  singular: string;
  title: string;
  icon: IconName;
  createPermission: Permission;
  editPermission: Permission;
  /** Lists the published items if `isPublished`, else the drafts that were never published. */
  list(isPublished: boolean): Promise<CodeItem[]>;
  createDraft(input: CodeInput): Promise<CodeItem>;
  /** Resolves with the published revision; undefined when no revision is published. */
  getPublished(id: string): Promise<CodeItem | undefined>;
  /** Lists the latest `count` revisions, newest first. */
  listRevisions(id: string, count: number): Promise<Revision[]>;
  save(
    id: string,
    change: CodeChange & { language: Language },
    publish: boolean,
  ): Promise<CodeItem>;
  /**
   * Publishes a revision after a test with `events`. Without `events`, the test uses the events
   * that were saved with the revision.
   */
  publish(versionId: string, events?: Events): Promise<{ warnings?: string[] }>;
  remove(id: string): Promise<unknown>;
}

const newestFirst = (count: number) => ({ count, orderBy: "desc" as const });

export const transformations: CodeKindInfo = {
  screen: "transformations",
  singular: "transformation",
  title: "Transformations",
  icon: "code",
  createPermission: "transformations:create-delete",
  editPermission: "transformations:edit",
  list: async (published) =>
    (await client.call("GET /transformations", { query: { published } })).transformations,
  createDraft: (body) => client.call("POST /transformations", { body }),
  getPublished: (id) =>
    undefinedIfNotFound(client.call("GET /transformations/{id}", { params: { id } })),
  listRevisions: async (id, count) => {
    const key = "GET /transformations/{id}/versions";
    const { TransformationVersions } = await client.call(key, {
      params: { id },
      query: newestFirst(count),
    });
    return TransformationVersions;
  },
  save: (id, { code, description, events }, publish) =>
    client.call("POST /transformations/{id}", {
      params: { id },
      query: { publish },
      body: { code, description, ...(events && { events }) },
    }),
  publish: (versionId, testInput) =>
    client.call("POST /libraries/publish", {
      body: { transformations: [{ versionId, ...(testInput && { testInput }) }] },
    }),
  remove: (id) => client.call("DELETE /transformations/{id}", { params: { id } }),
};

export const libraries: CodeKindInfo = {
  screen: "libraries",
  singular: "library",
  title: "Libraries",
  icon: "library",
  createPermission: "libraries:edit",
  editPermission: "libraries:edit",
  list: async (published) =>
    (await client.call("GET /libraries", { query: { published } })).libraries,
  createDraft: (body) => client.call("POST /libraries", { body }),
  getPublished: (id) => undefinedIfNotFound(client.call("GET /libraries/{id}", { params: { id } })),
  listRevisions: async (id, count) => {
    const key = "GET /libraries/{id}/versions";
    const { libraryVersions } = await client.call(key, {
      params: { id },
      query: newestFirst(count),
    });
    return libraryVersions;
  },
  save: (id, { code, description, language }, publish) =>
    client.call("POST /libraries/{id}", {
      params: { id },
      query: { publish },
      body: { code, description, language },
    }),
  publish: (versionId) =>
    client.call("POST /libraries/publish", { body: { libraries: [versionId] } }),
  remove: (id) => client.call("DELETE /libraries/{id}", { params: { id } }),
};

async function undefinedIfNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof RequestRefused && error.status === 404) return undefined;
    throw error;
  }
}

export const isPython = (language: Language) => language !== "javascript";
/** Returns the editor's language mode for the language of user code. */
export const editorLanguage = (language: Language) =>
  isPython(language) ? ("python" as const) : ("javascript" as const);
export const languageName = (language: Language) => (isPython(language) ? "Python" : "JavaScript");

/** Returns the code with which a new draft starts. */
export function starterCode(kind: CodeKindInfo, language: Language): string {
  if (kind === libraries) {
    return isPython(language)
      ? 'def shout(text):\n    return str(text or "").upper()\n'
      : 'export const shout = (text) => String(text ?? "").toUpperCase();\n';
  }
  return isPython(language)
    ? "def transformEvent(event, metadata):\n    return event\n"
    : "export function transformEvent(event, metadata) {\n  return event;\n}\n";
}

/**
 * The transformation or library that the page shows and edits. All tabs of the page use this
 * object.
 */
export interface CodeContext {
  kind: CodeKindInfo;
  newest: Revision;
  /** The published revision; undefined when no revision is published. */
  published: CodeItem | undefined;
  /**
   * Loads the newest and the published revision again. Called after a save, a publication or a new
   * link.
   */
  reload: () => Promise<void>;
  /** Line number, counted from 1, to which the editor moves. */
  line?: number | undefined;
}
