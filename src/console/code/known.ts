import { useEffect, useState } from "preact/hooks";
import { exportsOf, type Known } from "../editor/complete.ts";
import { client, lacking } from "../session.ts";
import { isPython, type Language, libraries } from "./kinds.ts";
import { eventsIn, type Report } from "./run.ts";

/** Events of the test and of the last run, as far as the text is any. */
export function eventsSeen(text: string, report: Report | undefined): unknown[] {
  const run = report?.results.map(({ event }) => event) ?? [];
  try {
    return [...eventsIn(text), ...run];
  } catch {
    return run;
  }
}

/** What completion knows beside the code. */
export function useKnown(language: Language, events: readonly unknown[]): Known {
  const [more, setMore] = useState<Pick<Known, "credentials" | "libraries">>({
    credentials: [],
    libraries: [],
  });
  const own = language === "javascript" ? "javascript" : "python";
  useEffect(() => {
    let isOver = false;
    asked(own).then(
      (it) => !isOver && setMore(it),
      // Completion knows less without them.
      () => {},
    );
    return () => {
      isOver = true;
    };
  }, [own]);
  return { language: own, events: [...events, ...defaults], ...more };
}

async function asked(language: Known["language"]) {
  const [published, credentials] = await Promise.all([
    libraries.list(true),
    lacking("workspace:admin") === undefined ? client.call("GET /v2/credentials") : undefined,
  ]);
  return {
    credentials: (credentials?.credentials ?? []).map(({ name }) => name),
    libraries: published
      .filter((it) => isPython(it.language) === (language === "python"))
      .map(({ importName = "", code }) => ({ importName, exports: exportsOf(code, language) })),
  };
}

/** What every event has, before any was seen. */
const defaults = [
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
