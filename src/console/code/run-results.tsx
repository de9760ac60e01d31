import { useState } from "preact/hooks";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge, Panel, SegmentedControl } from "../components/layout.tsx";
import { Diff } from "../editor/diff.tsx";
import { type EventResult, outcomeOf, type RunReport, withoutLog } from "./test-run.ts";

/** What a run made of each event, beside what came in, with its log lines and its error. */
export function RunResults(props: {
  report: RunReport | undefined;
  error: unknown;
  /** Goes to a line of the code. */
  onShow: (line: number, library: string | undefined) => void;
}) {
  const { report, error, onShow } = props;
  const [chosen, setChosen] = useState(0);
  if (error !== undefined) return <ErrorNotice error={error} />;
  if (report === undefined) {
    return (
      <Panel title="Result">
        <p class="quiet">
          Run the code, and each event is shown beside what became of it. <kbd>Ctrl</kbd>{" "}
          <kbd>Enter</kbd> runs it from the editor.
        </p>
      </Panel>
    );
  }
  const at = Math.min(chosen, report.results.length - 1);
  const result = report.results[at];
  const logs = report.logs.filter(({ event }) => event === undefined || event === at);
  return (
    <Panel title="Result">
      <div aria-live="polite" class="stack close">
        {report.error && <RunError {...{ ...report.error, onShow }} />}
        {report.results.length > 0 && (
          <EventList results={report.results} chosen={at} onChoose={setChosen} />
        )}
        {result?.error && <RunError {...{ ...result.error, onShow }} />}
        {result && !result.error && <EventOutputs key={at} result={result} />}
        {logs.length > 0 && <Logs {...{ logs, onShow }} />}
      </div>
    </Panel>
  );
}

function EventList(props: {
  results: readonly EventResult[];
  chosen: number;
  onChoose: (at: number) => void;
}) {
  const { results, chosen, onChoose } = props;
  return (
    <ol class="events">
      {results.map((result, at) => {
        const { text, tone } = outcomeOf(result);
        return (
          <li key={at}>
            <button type="button" aria-pressed={at === chosen} onClick={() => onChoose(at)}>
              <span class="cut">{numberedEventName(result.event, at)}</span>
              <Badge tone={tone}>{text}</Badge>
            </button>
          </li>
        );
      })}
    </ol>
  );
}

/** What people would call an event. */
export function numberedEventName(event: Record<string, unknown>, at: number): string {
  const [name] = [event.event, event.name, event.type].filter((it) => typeof it === "string");
  return `${at + 1} ${name ?? "event"}`;
}

function EventOutputs({ result }: { result: EventResult }) {
  const { event, outputs = [] } = result;
  const [chosen, setChosen] = useState("0");
  const output = outputs[Number(chosen)];
  if (output === undefined) return <p class="quiet">The code dropped this event.</p>;
  const [before, after] = [event, output].map((it) => JSON.stringify(sortKeys(it), null, 2));
  return (
    <>
      {outputs.length > 1 && (
        <SegmentedControl
          label="Output"
          value={chosen}
          options={outputs.map((_, at) => ({ value: String(at), text: `Output ${at + 1}` }))}
          onChange={setChosen}
        />
      )}
      {before === after ? (
        <>
          <p class="quiet">The event goes on as it came.</p>
          <Diff {...diffSides(before, after)} />
        </>
      ) : (
        <Diff {...diffSides(before, after)} />
      )}
    </>
  );
}

function diffSides(before = "", after = "") {
  return {
    before: { label: "Event that came in", text: before },
    after: { label: "Event that goes out", text: after },
    language: "json" as const,
  };
}

/** Keys in one order on both sides: what code only moved is no difference. */
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

function RunError(props: { message: string; line?: number; library?: string; onShow: ShowLine }) {
  const { message, line, library, onShow } = props;
  const [first, ...frames] = message.split("\n");
  return (
    <div class="fault" role="alert">
      <p>
        <strong>{first}</strong>
      </p>
      {frames.length > 0 && <pre>{frames.join("\n")}</pre>}
      {line !== undefined && (
        <p>
          <button type="button" class="button tight" onClick={() => onShow(line, library)}>
            Line {line}
            {library && ` of ${library}`}
          </button>
        </p>
      )}
    </div>
  );
}

function Logs({ logs, onShow }: { logs: RunReport["logs"]; onShow: ShowLine }) {
  return (
    <div>
      <h3>Log</h3>
      <ol class="logs">
        {logs.map(({ text, line, library }, at) => (
          <li key={at}>
            {line !== undefined && (
              <button type="button" onClick={() => onShow(line, library)}>
                {library ? `${library}:${line}` : `${line}`}
              </button>
            )}
            <pre>{withoutLog(text)}</pre>
          </li>
        ))}
      </ol>
    </div>
  );
}
