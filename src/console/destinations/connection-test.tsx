import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { Panel } from "../components/layout.tsx";
import { showError } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { commonTexts } from "../texts/common.ts";
import { destinationTexts } from "../texts/destinations.ts";
import { type ConnectionTestReport, TestSteps } from "./test-steps.tsx";

/**
 * Button that sends a test event to the destination's receiver without running the transformation.
 * It shows the result of each step.
 */
export function ConnectionTest(props: {
  destinationId: string;
  /** Number of tests that another part of the page asked for. A higher number starts a test. */
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
