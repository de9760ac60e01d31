import { type AnswerOf, RequestRefused } from "../../api/client.ts";
import type { IconName } from "../parts/icon.tsx";
import { client, type Permission } from "../session.ts";

/** Transformations and libraries: two kinds of code that are written, published and kept alike. */

type Transformation = AnswerOf<"GET /transformations/{id}">;
export type Revision = Omit<
  AnswerOf<"GET /transformations/{id}/versions/{versionId}">,
  "codeVersion"
> & { importName?: string };
/** One of either kind: as it is published, or as a draft. */
export type Code = Revision & Pick<Transformation, "destinations" | "warnings">;
export type Language = Revision["language"];

export interface NewCode {
  name: string;
  description: string;
  code: string;
  language: Language;
}

type Events = Record<string, unknown>[];

interface Change {
  code: string;
  description: string;
  /** Events that a transformation is tested with when it is published. */
  events?: Events;
}

export interface Kind {
  /** The first segment of its places. */
  screen: "transformations" | "libraries";
  one: string;
  title: string;
  icon: IconName;
  create: Permission;
  edit: Permission;
  /** Published ones, or drafts that were never published. */
  list(published: boolean): Promise<Code[]>;
  make(input: NewCode): Promise<Code>;
  /** As it is published; undefined for a draft. */
  published(id: string): Promise<Code | undefined>;
  /** Newest first. */
  revisions(id: string, count: number): Promise<Revision[]>;
  save(id: string, change: Change & { language: Language }, publish: boolean): Promise<Code>;
  /** Makes a revision the live one, tested with these events or with those it came with. */
  publish(versionId: string, events?: Events): Promise<{ warnings?: string[] }>;
  remove(id: string): Promise<unknown>;
}

const newest = (count: number) => ({ count, orderBy: "desc" as const });

export const transformations: Kind = {
  screen: "transformations",
  one: "transformation",
  title: "Transformations",
  icon: "code",
  create: "transformations:create-delete",
  edit: "transformations:edit",
  list: async (published) =>
    (await client.call("GET /transformations", { query: { published } })).transformations,
  make: (body) => client.call("POST /transformations", { body }),
  published: (id) => unlessMissing(client.call("GET /transformations/{id}", { params: { id } })),
  revisions: async (id, count) => {
    const key = "GET /transformations/{id}/versions";
    const { TransformationVersions } = await client.call(key, {
      params: { id },
      query: newest(count),
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

export const libraries: Kind = {
  screen: "libraries",
  one: "library",
  title: "Libraries",
  icon: "library",
  create: "libraries:edit",
  edit: "libraries:edit",
  list: async (published) =>
    (await client.call("GET /libraries", { query: { published } })).libraries,
  make: (body) => client.call("POST /libraries", { body }),
  published: (id) => unlessMissing(client.call("GET /libraries/{id}", { params: { id } })),
  revisions: async (id, count) => {
    const key = "GET /libraries/{id}/versions";
    const { libraryVersions } = await client.call(key, { params: { id }, query: newest(count) });
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

async function unlessMissing<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof RequestRefused && error.status === 404) return undefined;
    throw error;
  }
}

export const isPython = (language: Language) => language !== "javascript";
export const languageName = (language: Language) => (isPython(language) ? "Python" : "JavaScript");

/** What a new one starts with. */
export function beginning(kind: Kind, language: Language): string {
  if (kind === libraries) {
    return isPython(language)
      ? 'def shout(text):\n    return str(text or "").upper()\n'
      : 'export const shout = (text) => String(text ?? "").toUpperCase();\n';
  }
  return isPython(language)
    ? "def transformEvent(event, metadata):\n    return event\n"
    : "export function transformEvent(event, metadata) {\n  return event;\n}\n";
}

/** What the parts of a page work with. */
export interface Opened {
  kind: Kind;
  newest: Revision;
  /** Undefined for a draft. */
  published: Code | undefined;
  /** Something was saved, published or connected. */
  reload: () => Promise<void>;
  /** The line of the code that somebody wants to see. */
  at?: number | undefined;
}
