import { useState } from "preact/hooks";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge, Panel, SegmentedControl } from "../components/layout.tsx";
import { eventName } from "../data/event-name.ts";
import { Diff } from "../editor/diff.tsx";
import { codeTexts } from "../texts/code.ts";
import { commonTexts } from "../texts/common.ts";
import { type EventResult, outcomeOf, type TestRunReport, withoutPrefix } from "./run-report.ts";
import { SuiteResults, sortKeys } from "./suite-results.tsx";

/** Shows the outputs, log lines and error of a run, for each event. */
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
  const [before = "", after = ""] = [event, output].map((it) =>
    JSON.stringify(sortKeys(it), null, 2),
  );
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
