import { nameOf } from "../event-name.ts";
import type { Names } from "../every.ts";
import { Button } from "../parts/button.tsx";
import { Json } from "../parts/code.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { tell } from "../parts/messages.ts";
import { Time } from "../parts/time.tsx";
import { pick } from "../picked.ts";
import { to } from "../router.ts";
import type { Passing } from "./flow.ts";
import { OutcomeBadge } from "./table.tsx";

/** One event: as it was received, and as it arrived at each destination. */
export function Opened(props: { passing: Passing; names: Names; onClose: () => void }) {
  const { passing, names, onClose } = props;
  const { received, outcomes, sourceId, at, messageId } = passing;
  return (
    <Dialog title={nameOf(received ?? outcomes[0]?.event)} onClose={onClose} broad>
      <p class="row quiet">
        <span>
          From <a href={to("sources", sourceId)}>{names.source(sourceId)}</a>
        </span>
        <Time at={at} />
        <code class="small">{messageId}</code>
      </p>
      <div class="columns even">
        <section class="stack close" aria-label="Received">
          <h3>Received</h3>
          {received === undefined ? (
            <p class="quiet">It was received before this tail was opened.</p>
          ) : (
            <Json value={received} what="received event" />
          )}
        </section>
        {outcomes.map((outcome) => (
          <section
            class="stack close"
            key={outcome.destinationId + outcome.at}
            aria-label={names.destination(outcome.destinationId)}
          >
            <h3 class="row">
              <OutcomeBadge outcome={outcome} name={names.destination(outcome.destinationId)} />
            </h3>
            {outcome.reason && <p class="bad">{outcome.reason}</p>}
            {outcome.event !== undefined && (
              <Json value={outcome.event} what="event at the destination" />
            )}
          </section>
        ))}
      </div>
      <div class="ends">
        <Button
          icon="code"
          unless={received === undefined ? "It is not known as it was received" : undefined}
          onClick={() => {
            pick(received, "Live tail");
            tell("The editor has it among its test events");
          }}
        >
          Use as test event
        </Button>
        <Button kind="main" onClick={onClose}>
          Close
        </Button>
      </div>
    </Dialog>
  );
}
