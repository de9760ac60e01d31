import type { TestOutcome } from "./run-tests.ts";

/** Formats test outcomes as JUnit XML, which continuous integration servers read. */
export function junitText(outcomes: readonly TestOutcome[]): string {
  const suites = Map.groupBy(outcomes, ({ path }) => path);
  const lines = [...suites].flatMap(([path, tests]) => [
    `  <testsuite name="${escaped(path)}" ${countsOf(tests)}>`,
    ...tests.flatMap((test) => caseLines(test)),
    "  </testsuite>",
  ]);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="pixelmill" ${countsOf(outcomes)}>`,
    ...lines,
    "</testsuites>",
    "",
  ].join("\n");
}

function countsOf(tests: readonly TestOutcome[]): string {
  const failures = tests.filter(({ passed }) => !passed).length;
  const seconds = tests.reduce((sum, test) => sum + test.seconds, 0);
  return `tests="${tests.length}" failures="${failures}" time="${seconds.toFixed(3)}"`;
}

function caseLines({ path, name, passed, reasons, logs, seconds }: TestOutcome): string[] {
  const [first = "failed"] = reasons;
  const failure = [
    `      <failure message="${escaped(first)}">${escaped(reasons.join("\n"))}</failure>`,
  ];
  const attributes = `name="${escaped(name)}" classname="${escaped(path)}"`;
  return [
    `    <testcase ${attributes} time="${seconds.toFixed(3)}">`,
    ...(passed ? [] : failure),
    ...(logs.length === 0 ? [] : [`      <system-out>${escaped(logs.join("\n"))}</system-out>`]),
    "    </testcase>",
  ];
}

/** Matches characters that XML 1.0 does not allow, not even as character references. */
const FORBIDDEN = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu;
const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(FORBIDDEN, "\ufffd").replace(/[&<>"]/g, (it) => entities[it]!);
}
