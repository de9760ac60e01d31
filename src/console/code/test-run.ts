import type { AnswerOf } from "../../api/client.ts";
import { client } from "../data/session.ts";
import type { Annotation } from "../editor/annotations.ts";
import { type CodeKind, libraries, type Revision } from "./code-kind.ts";

export type RunReport = AnswerOf<"POST /v2/run">;
export type EventResult = RunReport["results"][number];
type Events = Record<string, unknown>[];

/** What is run: the text that is written, over these events. */
export interface TestRun {
  kind: CodeKind;
  newest: Revision;
  code: string;
  /** Of a library: the transformation that tries it. */
  trial: string;
  events: Events;
}

export function runCode({ kind, newest, code, trial, events }: TestRun): Promise<RunReport> {
  const { name, language } = newest;
  const body =
    kind === libraries
      ? { language, libraries: [{ name, code }], name: "try", code: trial, events }
      : { language, name, code, events };
  return client.call("POST /v2/run", { body });
}

/** The events of a text: an array of objects, or one object. Throws what is wrong with it. */
export function parseEvents(text: string): Events {
  if (text.trim() === "") return [];
  const value: unknown = JSON.parse(text);
  const list = Array.isArray(value) ? value : [value];
  for (const [at, event] of list.entries()) {
    if (typeof event !== "object" || event === null || Array.isArray(event)) {
      throw new Error(`Expected an event object at place ${at}, got something else`);
    }
  }
  return list;
}

/** What of a report is shown in the code of the library of this name, or in the code without one. */
export function annotationsOf(report: RunReport | undefined, library?: string): Annotation[] {
  if (report === undefined) return [];
  const errors = [report.error, ...report.results.map(({ error }) => error)];
  const here = (it: { library?: string }) => it.library === library;
  return [
    ...errors
      .filter((error) => error !== undefined)
      .filter(here)
      .map(({ message, line = 1, column }) => {
        return { kind: "error" as const, text: firstLine(message), line, column };
      }),
    ...report.logs.filter(here).flatMap(({ text, line }) => {
      return line === undefined ? [] : [{ kind: "log" as const, text: withoutLog(text), line }];
    }),
  ];
}

export const firstLine = (message: string) => message.split("\n", 1)[0] ?? "";
export const withoutLog = (text: string) => text.replace(/^Log: ?/, "");

/** How a result is called in one word, and how it looks. */
export function outcomeOf({ outputs, error }: EventResult) {
  if (error !== undefined) return { text: "Failed", tone: "bad" as const };
  const [first, ...more] = outputs ?? [];
  if (first === undefined) return { text: "Dropped", tone: "warn" as const };
  return { text: more.length > 0 ? `${more.length + 1} outputs` : "Passed", tone: "good" as const };
}

export const isFailed = ({ error, results }: RunReport) =>
  error !== undefined || results.some((it) => it.error !== undefined);

/** Why code that could be published should not be, as the server would warn. */
export function warningOf({ results }: RunReport): string | undefined {
  const dropped = results.length > 0 && results.every(({ outputs }) => outputs?.length === 0);
  return dropped ? "Every test event is dropped: is there a return missing?" : undefined;
}
