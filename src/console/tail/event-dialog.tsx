import { Button } from "../components/button.tsx";
import { JsonBlock } from "../components/code-block.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { eventName } from "../data/event-name.ts";
import { addSampleEvent } from "../data/sample-events.ts";
import type { NameLookup } from "../data/use-names.ts";
import { hrefTo } from "../router.ts";
import type { TailEvent } from "./event-buffer.ts";
import { OutcomeBadge } from "./tail-table.tsx";

/** Dialog that shows an event as received, and its outcome at each destination. */
export function EventDialog(props: { event: TailEvent; names: NameLookup; onClose: () => void }) {
  const { event, names, onClose } = props;
  const { received, outcomes, sourceId, at, messageId } = event;
  return (
    <Dialog title={eventName(received ?? outcomes[0]?.event)} onClose={onClose} broad>
      <p class="row quiet">
        <span>
          From <a href={hrefTo("sources", sourceId)}>{names.source(sourceId)}</a>
        </span>
        <Time at={at} />
        <code class="small">{messageId}</code>
      </p>
      <div class="columns even">
        <section class="stack close" aria-label="Received">
          <h3>Received</h3>
          {received === undefined ? (
            <p class="quiet">Received before this tail was opened.</p>
          ) : (
            <JsonBlock value={received} name="received event" />
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
              <JsonBlock value={outcome.event} name="event at the destination" />
            )}
          </section>
        ))}
      </div>
      <div class="ends">
        <Button
          icon="code"
          disabledReason={
            received === undefined ? "Received before this tail was opened" : undefined
          }
          onClick={() => {
            addSampleEvent(received);
            showToast("Saved as a test event; the editor lists it");
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
