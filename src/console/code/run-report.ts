import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import type { Annotation } from "../editor/annotations.ts";
import { type CodeKindInfo, libraries, type Revision } from "./code-kind.ts";

export type TestRunReport = AnswerOf<"POST /v2/run">;
export type EventResult = TestRunReport["results"][number];
type Events = Record<string, unknown>[];

interface TestRun {
  kind: CodeKindInfo;
  newest: Revision;
  /** The edited code. */
  code: string;
  /** Transformation that tries a library; unused for a transformation. */
  trial: string;
  events: Events;
}

export function runCode({ kind, newest, code, trial, events }: TestRun): Promise<TestRunReport> {
  const { name, language } = newest;
  const body =
    kind === libraries
      ? { language, libraries: [{ name, code }], name: "try", code: trial, events }
      : { language, name, code, events };
  return client.call("POST /v2/run", { body });
}

/** Parses one event object or an array of them. Throws when the text is neither. */
export function parseEvents(text: string): Events {
  if (text.trim() === "") return [];
  const value: unknown = JSON.parse(text);
  const list = Array.isArray(value) ? value : [value];
  for (const [index, event] of list.entries()) {
    if (typeof event !== "object" || event === null || Array.isArray(event)) {
      const actual = event === null ? "null" : Array.isArray(event) ? "an array" : typeof event;
      throw new Error(`Expected an object as event ${index + 1}, got ${actual}`);
    }
  }
  return list;
}

/** Errors and log lines of a run in one library, or in the code itself when it is undefined. */
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

const firstLine = (message: string) => message.split("\n", 1)[0] ?? "";
/** The sandbox prefixes log lines with `Log: `. */
export const withoutPrefix = (text: string) => text.replace(/^Log: ?/, "");

/** Badge text and tone of an event's result. */
export function outcomeOf({ outputs, error }: EventResult) {
  if (error !== undefined) return { text: "Failed", tone: "bad" as const };
  const [first, ...more] = outputs ?? [];
  if (first === undefined) return { text: "Dropped", tone: "warn" as const };
  return { text: more.length > 0 ? `${more.length + 1} outputs` : "Passed", tone: "good" as const };
}

export const isFailed = ({ error, results }: TestRunReport) =>
  error !== undefined || results.some((it) => it.error !== undefined);

/** Warning for code that drops every test event, like the server's on publishing. */
export function warningOf({ results }: TestRunReport): string | undefined {
  const isDropped = results.length > 0 && results.every(({ outputs }) => outputs?.length === 0);
  return isDropped ? "Every test event is dropped: is there a return missing?" : undefined;
}
