import { useState } from "preact/hooks";
import { isLargeInteger } from "../../api/client.ts";
import { CodeBlock } from "../components/code-block.tsx";
import { Badge, type Tone } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { Diff } from "../editor/diff.tsx";
import { commonTexts } from "../texts/common.ts";
import { testCaseTexts } from "../texts/test-cases.ts";
import type { TestRunReport } from "./run-report.ts";

export type SuiteResult = NonNullable<TestRunReport["testSuites"]>[number];

/** Returns text and colour of the badge that shows the result of a test case. */
export function suiteBadge(result: SuiteResult | undefined): { text: string; tone?: Tone } {
  return result ? badges[result.status] : { text: testCaseTexts.notRun };
}

const badges = {
  pass: { text: commonTexts.passed, tone: "good" },
  fail: { text: commonTexts.failed, tone: "bad" },
  error: { text: testCaseTexts.error, tone: "bad" },
} as const;

/** Shows the results of test cases. The first failed one is selected, with its differences. */
export function SuiteResults({ results }: { results: readonly SuiteResult[] }) {
  const [chosen, setChosen] = useState<string>();
  const failed = results.find(({ status }) => status !== "pass");
  const selected = results.find(({ id }) => id === chosen) ?? failed ?? results[0];
  const passed = results.filter(({ status }) => status === "pass").length;
  return (
    <section class="stack close" aria-label={testCaseTexts.testCases}>
      <h3>{testCaseTexts.summary(passed, results.length)}</h3>
      <ol class="events">
        {results.map((result) => {
          const { text, tone } = suiteBadge(result);
          return (
            <li key={result.id}>
              <button
                type="button"
                aria-pressed={result === selected}
                onClick={() => setChosen(result.id)}
              >
                <Name cut>{result.name}</Name>
                <Badge tone={tone}>{text}</Badge>
              </button>
            </li>
          );
        })}
      </ol>
      {selected && <SuiteDetails key={selected.id} result={selected} />}
    </section>
  );
}

function SuiteDetails({ result }: { result: SuiteResult }) {
  const { status, errors, actualOutput, expectedOutput } = result;
  if (status === "error") {
    return (
      <>
        {errors.map(({ message, eventIndex }) => (
          <div key={eventIndex} class="error" role="alert">
            <pre>{message}</pre>
          </div>
        ))}
      </>
    );
  }
  if (expectedOutput === undefined) {
    return <CodeBlock text={pretty(actualOutput)} name={testCaseTexts.actualSide} />;
  }
  if (status === "pass") return <p class="quiet">{testCaseTexts.asExpected}</p>;
  return (
    <>
      <p class="row small">
        <span class="bad">− {testCaseTexts.expectedSide}</span>
        <span class="good">+ {testCaseTexts.actualSide}</span>
      </p>
      <Diff
        before={{ label: testCaseTexts.expectedSide, text: pretty(expectedOutput) }}
        after={{ label: testCaseTexts.actualSide, text: pretty(actualOutput) }}
        language="json"
      />
    </>
  );
}

const pretty = (value: unknown) => JSON.stringify(sortKeys(value), null, 2);

/**
 * Returns a value with the keys of all its objects sorted. A comparison of two such values does not
 * depend on the order of keys.
 */
export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null || isLargeInteger(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
  );
}
