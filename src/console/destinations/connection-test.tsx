import { useState } from "preact/hooks";
import type { AnswerOf } from "../../api/client.ts";
import { Button } from "../parts/button.tsx";
import { Badge, Panel } from "../parts/layout.tsx";
import { client } from "../session.ts";
import { span } from "../text.ts";

type Answer = AnswerOf<"POST /v2/destinations/{id}/test">;

/** Sends one event of its own, past the transformation, and shows how far it came. */
export function ConnectionTest({ destinationId }: { destinationId: string }) {
  const [answer, setAnswer] = useState<Answer>();

  async function test() {
    setAnswer(undefined);
    const params = { id: destinationId };
    setAnswer(await client.call("POST /v2/destinations/{id}/test", { params }));
  }

  return (
    <Panel
      title="Test event"
      actions={
        <Button tight icon="play" needs="workspace:admin" onClick={test}>
          Send test event
        </Button>
      }
    >
      {answer === undefined ? (
        <p class="quiet">
          Sends an event named “Connection test” with the settings that are saved, and tells each
          step.
        </p>
      ) : (
        <ol class="steps" aria-live="polite">
          {answer.steps.map(({ step, ok, message, durationMs }) => (
            <li key={step}>
              <span class="row">
                <Badge tone={ok ? "good" : "bad"}>{step}</Badge>
                <span class="quiet small tabular">{span(durationMs / 1_000)}</span>
              </span>
              {message && <p class={ok ? "quiet" : "bad"}>{message}</p>}
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
