import { type Static, Type } from "@sinclair/typebox";
import type { ResourceRevision } from "../../../catalog/code/code-changes.ts";
import { component, oneOf, text } from "../../../settings/schema-types.ts";
import {
  matching,
  pageOf,
  type SortKeys,
  searchedListQuery,
  sortBy,
  sortRows,
} from "../../request/list-query.ts";
import { route } from "../../route.ts";
import { Id, isoTime, Language, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";
import { LinkedDestination, linkedDestinations } from "./revision-answers.ts";

const CodeRow = component("CodeRow", {
  id: Id,
  versionId: text("The live revision, or the newest one of a draft"),
  name: Type.String(),
  description: Type.String(),
  language: Language,
  isPublished: Type.Boolean(),
  updatedAt: Time,
  importName: Type.Optional(text("Of a library")),
  destinations: Type.Optional(
    Type.Array(LinkedDestination, { description: "Of a transformation" }),
  ),
});

const keys = {
  name: ({ name }) => name,
  language: ({ language }) => language,
  updatedAt: ({ updatedAt }) => Date.parse(updatedAt),
} satisfies SortKeys<Static<typeof CodeRow>>;

const { id, versionId, name, description, language, updatedAt, destinations } =
  example.transformation;
const exampleRow = { id, versionId, name, description, language, updatedAt, destinations };

/** Route of the console's lists of transformations and libraries, without their code. */
export const codeListRoutes = [
  route("GET /v2/code", {
    summary: "List transformations or libraries, published or not, without their code",
    needs: [],
    query: {
      kind: Type.Optional(oneOf(["transformation", "library"], { default: "transformation" })),
      ...searchedListQuery,
      sort: sortBy(keys, "published ones first, the oldest first"),
    },
    answer: Type.Object({
      code: Type.Array(CodeRow),
      total: Type.Integer({ description: "Number of rows that match, on all pages" }),
    }),
    example: {
      answer: { code: [{ ...exampleRow, isPublished: true }], total: 1 },
    },
    async handle({ deps: { catalog, limiters }, workspaceId, query, request }) {
      const { kind = "transformation", text, sort } = query;
      const matches = matching(text);
      const rows: Static<typeof CodeRow>[] = [];
      const add = (isPublished: boolean) => (found: ResourceRevision) => {
        if (matches(found.revision)) rows.push(rowOf(found, isPublished));
      };
      const { listSlices } = limiters;
      const published = catalog.code.listPublished(workspaceId, kind);
      await listSlices.each(published, add(true), request.signal);
      const drafts = catalog.code.listDrafts(workspaceId, kind);
      await listSlices.each(drafts, add(false), request.signal);
      sortRows(rows, sort, keys);
      const code = pageOf(rows, query).map((row) => {
        if (kind === "library") return row;
        return { ...row, destinations: linkedDestinations(catalog, { workspaceId, id: row.id }) };
      });
      return { code, total: rows.length };
    },
  }),
] as const;

function rowOf({ revision }: ResourceRevision, isPublished: boolean): Static<typeof CodeRow> {
  const { id, versionId, name, description, language, createdAt, importName } = revision;
  const row = { id, versionId, name, description, language, isPublished };
  return { ...row, updatedAt: isoTime(createdAt), ...(importName !== undefined && { importName }) };
}
