import { editorLanguage, type Language } from "../code-kinds/code-kind.ts";
import { allPages } from "../data/all-pages.ts";
import { client, missingPermission } from "../data/session.ts";
import { useResource } from "../data/use-resource.ts";
import { type CompletionData, exportsOf } from "../editor/completion.ts";
import { parseEvents, type TestRunReport } from "../testing/run-report.ts";

/**
 * Returns the events whose fields code completion offers: the user's test events in `text`, unless
 * they are invalid, and the events in the report of the last test run.
 */
export function knownEvents(text: string, report: TestRunReport | undefined): unknown[] {
  const runEvents = report?.results.map(({ event }) => event) ?? [];
  try {
    return [...parseEvents(text), ...runEvents];
  } catch {
    return runEvents;
  }
}

/**
 * Returns what code completion offers: the fields of `events` and of an event that has all standard
 * fields, the names of the credentials, and the published libraries with their exports.
 */
export function useCompletionData(
  codeLanguage: Language,
  events: readonly unknown[],
): CompletionData {
  const language = editorLanguage(codeLanguage);
  const { value } = useResource(() => fetchNames(language), [language]);
  // Without the names, completion still offers event fields.
  const names = value ?? { credentials: [], libraries: [] };
  return { language, events: [...events, standardEvent], ...names };
}

async function fetchNames(language: CompletionData["language"]) {
  const [published, credentials] = await Promise.all([
    client.call("GET /libraries"),
    missingPermission("workspace:admin") === undefined
      ? allPages(
          (page) => client.call("GET /v2/credentials", { query: { page } }),
          (answer) => answer.credentials,
        )
      : undefined,
  ]);
  return {
    credentials: (credentials?.items ?? []).map(({ name }) => name),
    libraries: published.libraries
      .filter((it) => editorLanguage(it.language) === language)
      .map(({ importName, code = "" }) => ({ importName, exports: exportsOf(code, language) })),
  };
}

/** Event with all standard fields, so that code completion always offers these fields. */
const standardEvent = {
  type: "track",
  channel: "web",
  messageId: "",
  anonymousId: "",
  userId: "",
  event: "",
  name: "",
  properties: {},
  traits: {},
  groupId: "",
  previousId: "",
  context: {
    ip: "",
    library: { name: "", version: "" },
    locale: "",
    page: { url: "", path: "", title: "", referrer: "", search: "" },
    traits: {},
    userAgent: "",
  },
  integrations: { All: true },
  originalTimestamp: "",
  sentAt: "",
  receivedAt: "",
  timestamp: "",
  request_ip: "",
};
