import { useEffect, useRef, useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import { type AuditForm, auditQuery } from "./audit-form.ts";

type AuditAnswer = AnswerOf<"GET /v2/audit">;
export type AuditEntry = AuditAnswer["entries"][number];

interface AuditState {
  /** Entries of all answers so far. Undefined until the first answer. */
  entries?: readonly AuditEntry[];
  last?: AuditAnswer;
  error?: unknown;
}

const PAGE_ENTRIES = 50;

/** Loads entries of the audit log whenever the form changes. `loadOlder` appends older entries. */
export function useAudit(form: AuditForm) {
  const [state, setState] = useState<AuditState>({});
  const [attempt, setAttempt] = useState(0);
  const key = JSON.stringify([form, attempt]);
  const latestKey = useRef(key);
  latestKey.current = key;

  async function load({ entries = [], last }: AuditState): Promise<void> {
    const cursor = last?.cursor;
    const query = { ...auditQuery(form), count: PAGE_ENTRIES, ...(cursor && { cursor }) };
    const answer = await client.call("GET /v2/audit", { query });
    if (latestKey.current !== key) return;
    setState({ entries: [...entries, ...answer.entries], last: answer });
  }

  useEffect(() => {
    setState({});
    load({}).catch((error: unknown) => {
      if (latestKey.current === key) setState({ error });
    });
  }, [key]);

  return { ...state, restart: () => setAttempt(attempt + 1), loadOlder: () => load(state) };
}
