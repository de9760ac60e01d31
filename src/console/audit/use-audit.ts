import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import { usePages } from "../data/use-pages.ts";
import { type AuditForm, auditQuery } from "./audit-form.ts";

export type AuditEntry = AnswerOf<"GET /v2/audit">["entries"][number];

const PAGE_ENTRIES = 50;

/** Loads entries of the audit log whenever the form changes. `loadOlder` appends older entries. */
export const useAudit = (form: AuditForm) =>
  usePages(
    form,
    (cursor) =>
      client.call("GET /v2/audit", {
        query: { ...auditQuery(form), count: PAGE_ENTRIES, ...cursor },
      }),
    ({ entries }) => entries,
  );
