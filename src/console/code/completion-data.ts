import { useEffect, useState } from "preact/hooks";
import { client, missingPermission } from "../data/session.ts";
import { type CompletionData, exportsOf } from "../editor/completion.ts";
import { isPython, type Language, libraries } from "./code-kind.ts";
import { parseEvents, type RunReport } from "./test-run.ts";

/** Events of the test and of the last run, as far as the text is any. */
export function knownEvents(text: string, report: RunReport | undefined): unknown[] {
  const run = report?.results.map(({ event }) => event) ?? [];
  try {
    return [...parseEvents(text), ...run];
  } catch {
    return run;
  }
}

/** What completion knows beside the code. */
export function useCompletionData(language: Language, events: readonly unknown[]): CompletionData {
  const [more, setMore] = useState<Pick<CompletionData, "credentials" | "libraries">>({
    credentials: [],
    libraries: [],
  });
  const own = language === "javascript" ? "javascript" : "python";
  useEffect(() => {
    let isOver = false;
    fetchCompletionData(own).then(
      (it) => !isOver && setMore(it),
      // Completion knows less without them.
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [own]);
  return { language: own, events: [...events, ...standardEvents], ...more };
}

async function fetchCompletionData(language: CompletionData["language"]) {
  const [published, credentials] = await Promise.all([
    libraries.list(true),
    missingPermission("workspace:admin") === undefined
      ? client.call("GET /v2/credentials")
      : undefined,
  ]);
  return {
    credentials: (credentials?.credentials ?? []).map(({ name }) => name),
    libraries: published
      .filter((it) => isPython(it.language) === (language === "python"))
      .map(({ importName = "", code }) => ({ importName, exports: exportsOf(code, language) })),
  };
}

/** What every event has, before any was seen. */
const standardEvents = [
  {
    type: "track",
    channel: "web",
    messageId: "",
    anonymousId: "",
    userId: "",
    event: "",
    name: "",
    properties: {},
    context: { library: { name: "", version: "" }, page: { url: "", path: "", title: "" } },
    integrations: { All: true },
    originalTimestamp: "",
    sentAt: "",
    receivedAt: "",
    request_ip: "",
  },
];
