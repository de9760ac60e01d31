import { type Static, Type } from "@sinclair/typebox";
import {
  type AuditEntry,
  type AuditFilter,
  auditFields,
} from "../../../catalog/audit/audit-entry.ts";
import { AUDIT_PAGE_MAX } from "../../../catalog/audit/limits.ts";
import { ApiError } from "../../../errors.ts";
import { PAGE_ITEMS_MAX } from "../../../settings/limits.ts";
import { component, optionalInteger, text } from "../../../settings/schema-types.ts";
import type { RouteDeps } from "../../deps.ts";
import { linesResponse } from "../../response/list-stream.ts";
import { route } from "../../route.ts";
import { Id, isoTime, Time } from "../../schema/common.ts";
import * as example from "../../schema/examples.ts";

const AuditEntrySchema = component("AuditEntry", {
  id: Type.String(),
  createdAt: Time,
  ...auditFields,
});

const filter = {
  actor: Type.Optional({ ...Id, description: "Id of a token or a member" }),
  action: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 100,
      description: "Such as `source.update`, or `source` for all that happened to sources",
    }),
  ),
  resource: Type.Optional({ ...Id, description: "Id of what was changed, or is connected to it" }),
  from: Type.Optional({ ...Time, description: "At this time or later" }),
  to: Type.Optional({ ...Time, description: "Before this time" }),
};
const Filter = Type.Object(filter);

const AuditEntries = component("AuditEntries", {
  entries: Type.Array(AuditEntrySchema, { description: "The newest first" }),
  cursor: Type.Optional(
    text("Where to go on, also after an answer without entries; absent at the end"),
  ),
  keptSince: Type.Optional({
    ...Time,
    description: "All entries since then are kept; absent while there are none",
  }),
});

export const auditRoutes = [
  route("GET /v2/audit", {
    summary: "Tell who changed what, and when, newest first",
    needs: ["audit:read"],
    query: {
      ...filter,
      count: optionalInteger(1, AUDIT_PAGE_MAX, { default: PAGE_ITEMS_MAX }),
      cursor: Type.Optional({ ...Id, description: "Of an earlier answer" }),
    },
    answer: AuditEntries,
    example: {
      answer: {
        entries: [
          structuredClone(example.auditEntry) as unknown as Static<typeof AuditEntrySchema>,
        ],
        keptSince: example.auditEntry.createdAt,
      },
    },
    handle({ deps, workspaceId, query: { count = PAGE_ITEMS_MAX, cursor: after, ...sent } }) {
      const page = { count, ...(after !== undefined && { after }) };
      const found = deps.catalog.audit.find(workspaceId, filterOf(sent), page);
      const { entries, reached: cursor, keptSince } = found;
      return {
        entries: entries.map(entryAnswer),
        ...(cursor !== undefined && { cursor }),
        ...(keptSince !== undefined && { keptSince: isoTime(keptSince) }),
      };
    },
  }),

  route("GET /v2/audit/export", {
    summary: "Export the entries of the audit log as lines of JSON, newest first",
    needs: ["audit:read"],
    query: filter,
    answer: text("One entry a line, as `GET /v2/audit` has them"),
    media: "application/x-ndjson",
    example: { answer: `${JSON.stringify(example.auditEntry)}\n` },
    handle: ({ deps, workspaceId, query }) => exportEntries(deps, workspaceId, filterOf(query)),
  }),
] as const;

/**
 * Responds with all matching audit entries as lines of JSON. Reads the next page of entries only
 * when the client has read the page before it.
 */
function exportEntries(deps: RouteDeps, workspaceId: string, filter: AuditFilter): Response {
  const resources = new DisposableStack();
  resources.use(deps.limiters.longLists.acquire(workspaceId));
  let after: string | undefined;
  const nextPart = () => {
    const page = { count: AUDIT_PAGE_MAX, ...(after !== undefined && { after }) };
    const { entries, reached } = deps.catalog.audit.find(workspaceId, filter, page);
    after = reached;
    const lines = entries.map((entry) => `${JSON.stringify(entryAnswer(entry))}\n`);
    return { text: lines.join(""), done: reached === undefined };
  };
  return linesResponse("audit.jsonl", nextPart, resources);
}

function filterOf({ from, to, ...rest }: Static<typeof Filter>): AuditFilter {
  if (from !== undefined && to !== undefined && Date.parse(from) >= Date.parse(to)) {
    throw new ApiError("invalid", "Expected from to be before to", [
      { path: "?from", message: "Expected a time before to" },
    ]);
  }
  return {
    ...rest,
    ...(from !== undefined && { from: Date.parse(from) }),
    ...(to !== undefined && { to: Date.parse(to) }),
  };
}

function entryAnswer(entry: AuditEntry): Static<typeof AuditEntrySchema> {
  const { workspaceId: _, at, concerns: __, ...shown } = entry;
  return { ...shown, createdAt: isoTime(at) };
}
