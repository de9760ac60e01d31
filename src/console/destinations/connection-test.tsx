import { useEffect, useRef, useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Button } from "../components/button.tsx";
import { Badge, Panel } from "../components/layout.tsx";
import { showError } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { FoldedResponse } from "../dead-letters/receiver-response.tsx";
import { formatDuration } from "../format.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";

/**
 * Button that sends a test event straight to the destination's receiver, and then shows each step
 * of the test. No transformation runs.
 */
export function ConnectionTest(props: {
  destinationId: string;
  /** Number of tests that another part of the page has asked for. When it grows, a test begins. */
  requested: number;
}) {
  const { destinationId, requested } = props;
  const [answer, setAnswer] = useState<ConnectionTestReport>();
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (requested === 0) return;
    panel.current?.scrollIntoView({ block: "nearest" });
    test().catch(showError);
  }, [requested]);

  async function test() {
    setAnswer(undefined);
    const params = { id: destinationId };
    setAnswer(await client.call("POST /v2/destinations/{id}/test", { params }));
  }

  return (
    <div ref={panel}>
      <Panel
        title={commonTexts.testEvent}
        actions={
          <Button compact icon="play" needs="workspace:admin" onClick={test}>
            {commonTexts.sendTestEvent}
          </Button>
        }
      >
        {answer === undefined ? (
          <p class="quiet">{destinationTexts.connectionTestHint}</p>
        ) : (
          <TestSteps report={answer} />
        )}
      </Panel>
    </div>
  );
}

type ConnectionTestReport = AnswerOf<"POST /v2/destinations/{id}/test">;

/**
 * Shows the steps of a connection test with their durations. A test ends with the first step that
 * fails.
 */
function TestSteps({ report }: { report: ConnectionTestReport }) {
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

/**
 * Component state for testing the settings in a form without saving them. `trial` has the label and
 * action of the form's test button. `result` shows the steps of the last test, until the settings
 * change.
 */
export function useSettingsTest(settings: {
  type: string;
  config: Record<string, unknown>;
  /** Id of the stored destination whose secrets the test uses in place of blank secret fields. */
  destinationId?: string;
}) {
  const [latest, setLatest] = useState<{ tested: string; report: ConnectionTestReport }>();
  const tested = JSON.stringify(settings);
  return {
    trial: {
      action: destinationTexts.testSettings,
      async run() {
        setLatest(undefined);
        const report = await client.call("POST /v2/destinations/test", { body: settings });
        setLatest({ tested, report });
      },
    },
    result: latest?.tested === tested && <TestSteps report={latest.report} />,
  };
}
