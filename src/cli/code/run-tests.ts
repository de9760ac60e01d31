import type { AnswerOf, Client } from "../../api/client.ts";
import type { CodeContent } from "./code-item.ts";

type RunReport = AnswerOf<"POST /v2/run">;
type CaseResult = NonNullable<RunReport["testSuites"]>[number];

/** Outcome of a test case or, for code that does not load or has no test cases, of loading it. */
export interface TestOutcome {
  /** Path of the code, such as `transformations/shout-titles`. */
  path: string;
  name: string;
  passed: boolean;
  /** Sentences that say why the test case failed. The list is empty when it passed. */
  reasons: string[];
  /** Log lines that the tested code wrote. */
  logs: string[];
  seconds: number;
}

/**
 * Code to test. `libraries` are the libraries of the directory that contains the code. The tests
 * use them in place of published libraries with the same names.
 */
export interface TestInput {
  path: string;
  content: CodeContent;
  libraries: readonly CodeContent[];
}

/**
 * Runs the test cases of code on the server, without saving the code. Returns one outcome per test
 * case. For code without test cases, returns one outcome that says whether the code loads.
 */
export async function runTests(client: Client, input: TestInput): Promise<TestOutcome[]> {
  const { path, content, libraries } = input;
  const { kind, name, language, code, tests } = content;
  const startedAt = performance.now();
  const own = libraries.filter((it) => it.language === language);
  const drafts = kind === "library" && !own.includes(content) ? [...own, content] : own;
  const report = await client.call("POST /v2/run", {
    body: {
      language,
      name,
      ...(kind === "transformation" && { code }),
      ...(drafts.length > 0 && {
        libraries: drafts.map((library) => ({ name: library.name, code: library.code })),
      }),
      // The position serves as id, because several test cases may have the same name.
      ...(tests.length > 0 && { testSuite: tests.map((it, at) => ({ ...it, id: String(at) })) }),
    },
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const results = report.testSuites ?? [];
  if (report.error !== undefined || results.length === 0) {
    const { error } = report;
    const reasons = error === undefined ? [] : [error.message + place(error)];
    const logs = report.logs.map(({ text }) => text);
    return [{ path, name: "loads", passed: error === undefined, reasons, logs, seconds }];
  }
  return results.map((result) => ({
    path,
    name: result.name,
    passed: result.status === "pass",
    reasons: result.status === "pass" ? [] : reasonsOf(result),
    logs: result.logs,
    seconds: seconds / results.length,
  }));
}

type Place = Pick<NonNullable<RunReport["error"]>, "line" | "column" | "library">;

function reasonsOf({ errors, differences = [], status }: CaseResult): string[] {
  const reasons = [
    ...errors.map((it) => `event ${it.eventIndex + 1}: ${it.message}${place(it)}`),
    ...differences.map(
      ({ path, expected = "nothing", actual = "nothing" }) =>
        `${path === "" ? "output" : path}: expected ${expected}, got ${actual}`,
    ),
  ];
  return reasons.length > 0 ? reasons : [status];
}

function place({ line, column, library }: Place): string {
  if (line === undefined) return "";
  const where = library === undefined ? "" : `${library} `;
  return ` (${where}line ${line}${column === undefined ? "" : `, column ${column}`})`;
}
