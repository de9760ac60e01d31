import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Button } from "../components/button.tsx";
import { Badge, Panel } from "../components/layout.tsx";
import { client } from "../data/session.ts";
import { formatDuration } from "../format.ts";

type ConnectionTestReport = AnswerOf<"POST /v2/destinations/{id}/test">;

/**
 * Button that sends a test event to the destination's receiver without running the transformation.
 * It shows the result of each step.
 */
export function ConnectionTest({ destinationId }: { destinationId: string }) {
  const [answer, setAnswer] = useState<ConnectionTestReport>();

  async function test() {
    setAnswer(undefined);
    const params = { id: destinationId };
    setAnswer(await client.call("POST /v2/destinations/{id}/test", { params }));
  }

  return (
    <Panel
      title="Test event"
      actions={
        <Button compact icon="play" needs="workspace:admin" onClick={test}>
          Send test event
        </Button>
      }
    >
      {answer === undefined ? (
        <p class="quiet">
          Sends an event named “Connection test” with the saved settings, and shows each step.
        </p>
      ) : (
        <ol class="steps" aria-live="polite">
          {answer.steps.map(({ step, ok, message, durationMs }) => (
            <li key={step}>
              <span class="row">
                <Badge tone={ok ? "good" : "bad"}>{step}</Badge>
                <span class="quiet small tabular">{formatDuration(durationMs / 1_000)}</span>
              </span>
              {message && <p class={ok ? "quiet" : "bad"}>{message}</p>}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
