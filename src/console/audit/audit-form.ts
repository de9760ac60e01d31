import type { AnswerOf } from "../../api/client.ts";
import { readValues, timeParameters } from "../data/address-form.ts";
import { client } from "../data/session.ts";
import { usePages } from "../data/use-pages.ts";

/**
 * Values of the audit log's action filter. A kind of item, such as `source`, matches all actions on
 * such items. A single action, such as `transformation.publish`, matches only itself.
 */
export const auditActions = [
  "source",
  "destination",
  "connection",
  "transformation",
  "transformation.publish",
  "transformation.roll-back",
  "library",
  "link",
  "test-case",
  "dead-letter",
  "dead-letter.replay",
  "dead-letter.purge",
  "replay",
  "member",
  "token",
  "token.refuse",
  "credential",
  "alert-rule",
  "alert-receiver",
  "session",
  "workspace",
] as const;

/** Values of the audit log's filter form. An empty value does not filter. */
export type AuditForm = ReturnType<typeof readAuditForm>;

export const readAuditForm = (query: URLSearchParams) =>
  readValues(query, ["action", "actor", "resource", "from", "to"]);

/** Converts the form's values to the query parameters of the API request for the audit log. */
export function auditQuery({ from, to, ...texts }: AuditForm): Record<string, string> {
  const given = Object.entries(texts).map(([name, value]) => [name, value.trim()] as const);
  const filters = Object.fromEntries(given.filter(([, value]) => value !== ""));
  return { ...filters, ...timeParameters({ from, to }) };
}

export type AuditEntry = AnswerOf<"GET /v2/audit">["entries"][number];

const PAGE_ENTRIES = 50;

/**
 * Hook that loads the audit log page by page, newest entries first. It starts again when the form
 * changes. `loadOlder` of the result loads the next page.
 */
export const useAudit = (form: AuditForm) =>
  usePages(
    form,
    (cursor) =>
      client.call("GET /v2/audit", {
        query: { ...auditQuery(form), count: PAGE_ENTRIES, ...cursor },
      }),
    ({ entries }) => entries,
  );
