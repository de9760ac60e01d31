import { useState } from "preact/hooks";
import { isLargeInteger } from "../../api/client.ts";
import { CodeBlock } from "../components/code-block.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge, Panel, SegmentedControl, type Tone } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { eventName } from "../data/event-name.ts";
import { Diff } from "../editor/diff.tsx";
import { codeTexts, testCaseTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import { type EventResult, outcomeOf, type TestRunReport, withoutPrefix } from "./run-report.ts";

/**
 * Shows the result of a test run: the outputs, log lines and error of the selected event, and the
 * results of test cases.
 */
export function RunResults(props: {
  report: TestRunReport | undefined;
  error: unknown;
  onShowLine: ShowLine;
}) {
  const { report, error, onShowLine } = props;
  const [selected, setSelected] = useState(0);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (report === undefined) {
    return (
      <Panel title={codeTexts.result}>
        <p class="quiet">
          {codeTexts.noResultYet(<kbd>{commonTexts.modKey}</kbd>, <kbd>{codeTexts.enter}</kbd>)}
        </p>
      </Panel>
    );
  }
  const at = Math.min(selected, report.results.length - 1);
  const result = report.results[at];
  const logs = report.logs.filter(({ event }) => event === undefined || event === at);
  return (
    <Panel title={codeTexts.result}>
      <div aria-live="polite" class="stack close">
        {report.error && <RunError {...report.error} onShowLine={onShowLine} />}
        {report.results.length > 0 && (
          <EventList results={report.results} selected={at} onSelect={setSelected} />
        )}
        {result?.error && <RunError {...result.error} onShowLine={onShowLine} />}
        {result && !result.error && <EventOutputs key={at} result={result} />}
        {report.testSuites && <SuiteResults results={report.testSuites} />}
        {logs.length > 0 && <Logs logs={logs} onShowLine={onShowLine} />}
      </div>
    </Panel>
  );
}

function EventList(props: {
  results: readonly EventResult[];
  selected: number;
  onSelect: (at: number) => void;
}) {
  const { results, selected, onSelect } = props;
  return (
    <ol class="events">
      {results.map((result, at) => {
        const { text, tone } = outcomeOf(result);
        return (
          <li key={at}>
            <button type="button" aria-pressed={at === selected} onClick={() => onSelect(at)}>
              <span class="cut">{numberedEventName(result.event, at)}</span>
              <Badge tone={tone}>{text}</Badge>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

/**
 * Returns the label of an event, such as `2 Signed up`: its position, counted from 1, and its name.
 */
export const numberedEventName = (event: unknown, at: number) => `${at + 1} ${eventName(event)}`;

function EventOutputs({ result }: { result: EventResult }) {
  const { event, outputs = [] } = result;
  const [selected, setSelected] = useState("0");
  const output = outputs[Number(selected)];
  if (output === undefined) return <p class="quiet">{codeTexts.eventDropped}</p>;
  const before = pretty(event);
  const after = pretty(output);
  return (
    <>
      {outputs.length > 1 && (
        <SegmentedControl
          label={codeTexts.output}
          value={selected}
          options={outputs.map((_, at) => ({
            value: String(at),
            text: codeTexts.outputNumber(at + 1),
          }))}
          onChange={setSelected}
        />
      )}
      {before === after && <p class="quiet">{codeTexts.outputUnchanged}</p>}
      <Diff
        before={{ label: codeTexts.inputEvent, text: before }}
        after={{ label: codeTexts.outputEvent, text: after }}
        language="json"
      />
    </>
  );
}

type ShowLine = (line: number, library: string | undefined) => void;

function RunError(props: {
  message: string;
  line?: number;
  library?: string;
  onShowLine: ShowLine;
}) {
  const { message, line, library, onShowLine } = props;
  const [first, ...frames] = message.split("\n");
  return (
    <div class="error" role="alert">
      <p>
        <strong>{first}</strong>
      </p>
      {frames.length > 0 && <pre>{frames.join("\n")}</pre>}
      {line !== undefined && (
        <p>
          <button type="button" class="button tight" onClick={() => onShowLine(line, library)}>
            {codeTexts.lineOf(line, library)}
          </button>
        </p>
      )}
    </div>
  );
}

function Logs({ logs, onShowLine }: { logs: TestRunReport["logs"]; onShowLine: ShowLine }) {
  return (
    <div>
      <h3>{codeTexts.log}</h3>
      <ol class="logs">
        {logs.map(({ text, line, library }, at) => (
          <li key={at}>
            {line !== undefined && (
              <button type="button" onClick={() => onShowLine(line, library)}>
                {library ? `${library}:${line}` : `${line}`}
              </button>
            )}
            <pre>{withoutPrefix(text)}</pre>
          </li>
        ))}
      </ol>
    </div>
  );
}

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

/**
 * Shows the results of test cases, and the differences of the selected one. Until the user selects
 * one, the first failed test case is selected or, if none failed, the first one.
 */
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

/** Returns a value as indented JSON with sorted keys. */
const pretty = (value: unknown) => JSON.stringify(sortKeys(value), null, 2) ?? "";

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
