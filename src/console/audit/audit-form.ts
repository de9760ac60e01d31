/** Types of resources and actions by which the audit log can be filtered. */
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
  "session",
  "workspace",
] as const;

/** Values of the filter form, as in the query of the page's address. Empty values do not filter. */
export interface AuditForm {
  action: string;
  actor: string;
  resource: string;
  /** Local time such as `2026-02-16T21:30`. */
  from: string;
  to: string;
}

export function readAuditForm(query: URLSearchParams): AuditForm {
  const read = (name: string) => query.get(name) ?? "";
  return {
    action: read("action"),
    actor: read("actor"),
    resource: read("resource"),
    from: read("from"),
    to: read("to"),
  };
}

/** Returns the query parameters of a request to the API. */
export function auditQuery({ from, to, ...texts }: AuditForm): Record<string, string> {
  const times = { from: isoTime(from), to: isoTime(to) };
  const given = Object.entries({ ...texts, ...times }).map(
    ([name, value]) => [name, value.trim()] as const,
  );
  return Object.fromEntries(given.filter(([, value]) => value !== ""));
}

function isoTime(local: string): string {
  const time = new Date(local).getTime();
  return Number.isNaN(time) ? "" : new Date(time).toISOString();
}
