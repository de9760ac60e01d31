import { useState } from "preact/hooks";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge, Panel, SegmentedControl } from "../components/layout.tsx";
import { eventName } from "../data/event-name.ts";
import { Diff } from "../editor/diff.tsx";
import { type EventResult, outcomeOf, type TestRunReport, withoutPrefix } from "./run-report.ts";

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
      <Panel title="Result">
        <p class="quiet">
          Run the code to compare each event with its output. In the editor, <kbd>Ctrl</kbd>{" "}
          <kbd>Enter</kbd> runs it.
        </p>
      </Panel>
    );
  }
  const at = Math.min(selected, report.results.length - 1);
  const result = report.results[at];
  const logs = report.logs.filter(({ event }) => event === undefined || event === at);
  return (
    <Panel title="Result">
      <div aria-live="polite" class="stack close">
        {report.error && <RunError {...report.error} onShowLine={onShowLine} />}
        {report.results.length > 0 && (
          <EventList results={report.results} selected={at} onSelect={setSelected} />
        )}
        {result?.error && <RunError {...result.error} onShowLine={onShowLine} />}
        {result && !result.error && <EventOutputs key={at} result={result} />}
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
  if (output === undefined) return <p class="quiet">The transformation dropped this event.</p>;
  const [before = "", after = ""] = [event, output].map((it) =>
    JSON.stringify(sortKeys(it), null, 2),
  );
  return (
    <>
      {outputs.length > 1 && (
        <SegmentedControl
          label="Output"
          value={selected}
          options={outputs.map((_, at) => ({ value: String(at), text: `Output ${at + 1}` }))}
          onChange={setSelected}
        />
      )}
      {before === after && <p class="quiet">Output: unchanged.</p>}
      <Diff
        before={{ label: "Input event", text: before }}
        after={{ label: "Output event", text: after }}
        language="json"
      />
    </>
  );
}

/**
 * Sorts the keys of objects, so that the comparison of two events shows no difference for a key in
 * another place.
 */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, item]) => [key, sortKeys(item)]),
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
            Line {line}
            {library && ` of ${library}`}
          </button>
        </p>
      )}
    </div>
  );
}

function Logs({ logs, onShowLine }: { logs: TestRunReport["logs"]; onShowLine: ShowLine }) {
  return (
    <div>
      <h3>Log</h3>
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
