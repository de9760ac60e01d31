import { useEffect, useRef } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Badge } from "../components/layout.tsx";
import { FoldedResponse } from "../dead-letters/receiver-response.tsx";
import { formatDuration } from "../format.ts";

export type ConnectionTestReport = AnswerOf<"POST /v2/destinations/{id}/test">;

/** Shows the steps of a connection test up to the first that failed, each with its time. */
export function TestSteps({ report }: { report: ConnectionTestReport }) {
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => list.current?.scrollIntoView({ block: "nearest" }), [report]);
  return (
    <ol ref={list} class="steps" aria-live="polite">
      {report.steps.map(({ step, ok, message, durationMs, response }) => (
        <li key={step}>
          <span class="row">
            <Badge tone={ok ? "good" : "bad"}>{step}</Badge>
            <span class="quiet small tabular">{formatDuration(durationMs / 1_000)}</span>
          </span>
          {message && <p class={ok ? "quiet" : "bad"}>{message}</p>}
          {response && <FoldedResponse response={response} isOpen={!ok} />}
        </li>
      ))}
    </ol>
  );
}
