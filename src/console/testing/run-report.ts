import { type AnswerOf, parseToShow } from "../../api/client.ts";
import { type CodeKindInfo, libraries, type Revision } from "../code-kinds/code-kind.ts";
import { client } from "../data/session.ts";
import type { Annotation } from "../editor/annotations.ts";
import { codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import type { TestCase } from "./use-test-cases.ts";

export type TestRunReport = AnswerOf<"POST /v2/run">;
export type EventResult = TestRunReport["results"][number];
type Events = Record<string, unknown>[];

interface TestRun {
  kind: CodeKindInfo;
  newest: Revision;
  /** Code that the user edits. */
  code: string;
  /**
   * Code of a transformation that calls the edited library, so that the library can be tested.
   * Ignored if the edited code is itself a transformation.
   */
  trial: string;
  events: Events;
  testCases: readonly TestCase[];
}

export function runCode(run: TestRun): Promise<TestRunReport> {
  const { kind, newest, code, trial, events, testCases } = run;
  const { name, language } = newest;
  const body =
    kind === libraries
      ? { language, libraries: [{ name, code }], name: "try", code: trial, events }
      : { language, name, code, events, testSuite: testCases.map(toSuite) };
  return client.call("POST /v2/run", { body });
}

const toSuite = ({ id, name, input, expectedOutput }: TestCase) => ({
  id,
  name,
  input,
  ...(expectedOutput && { expectedOutput }),
});

/**
 * Parses the user's test events: JSON with one event or an array of events. Returns an empty array
 * for blank text. Throws if the text is not JSON, or an event is not an object.
 */
export function parseEvents(text: string): Events {
  if (text.trim() === "") return [];
  const value = parseToShow(text);
  const list = Array.isArray(value) ? value : [value];
  for (const [index, event] of list.entries()) {
    if (typeof event !== "object" || event === null || Array.isArray(event)) {
      const actual =
        event === null ? "null" : Array.isArray(event) ? codeTexts.anArray : typeof event;
      throw new Error(codeTexts.expectedObject(index + 1, actual));
    }
  }
  return list;
}

/**
 * Returns the errors and log lines of a test run as annotations for an editor. Only those from the
 * library `library` are included or, without `library`, only those from the transformation.
 */
export function annotationsOf(report: TestRunReport | undefined, library?: string): Annotation[] {
  if (report === undefined) return [];
  const errors = [report.error, ...report.results.map(({ error }) => error)];
  const isHere = (it: { library?: string }) => it.library === library;
  return [
    ...errors
      .filter((error) => error !== undefined)
      .filter(isHere)
      .map(({ message, line = 1, column }) => {
        return { kind: "error" as const, text: firstLine(message), line, column };
      }),
    ...report.logs.filter(isHere).flatMap(({ text, line }) => {
      return line === undefined ? [] : [{ kind: "log" as const, text: withoutPrefix(text), line }];
    }),
  ];
}

const firstLine = (message: string) => message.replace(/\n.*/s, "");
/** Removes the prefix `Log: ` that the sandbox puts before each log line. */
export const withoutPrefix = (text: string) => text.replace(/^Log: ?/, "");

/** Returns text and colour of the badge that shows the result for one event. */
export function outcomeOf({ outputs, error }: EventResult) {
  if (error !== undefined) return { text: commonTexts.failed, tone: "bad" as const };
  const [first, ...more] = outputs ?? [];
  if (first === undefined) return { text: commonTexts.dropped, tone: "warn" as const };
  return {
    text: more.length > 0 ? codeTexts.outputs(more.length + 1) : commonTexts.passed,
    tone: "good" as const,
  };
}

export const isFailed = ({ error, results, testSuites = [] }: TestRunReport) =>
  error !== undefined ||
  results.some((it) => it.error !== undefined) ||
  testSuites.some(({ status }) => status !== "pass");

/** Returns a warning if the code drops every test event, otherwise undefined. */
export function warningOf({ results }: TestRunReport): string | undefined {
  const isDropped = results.length > 0 && results.every(({ outputs }) => outputs?.length === 0);
  return isDropped ? codeTexts.allDropped : undefined;
}
