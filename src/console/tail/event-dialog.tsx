import { Button } from "../components/button.tsx";
import { JsonBlock } from "../components/code-block.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { eventName } from "../data/event-name.ts";
import type { NameLookup } from "../data/list-all.ts";
import { addSampleEvent } from "../data/sample-events.ts";
import { hrefTo } from "../router.ts";
import type { TailEvent } from "./event-buffer.ts";
import { OutcomeBadge } from "./tail-table.tsx";

/** One event: as it was received, and as it arrived at each destination. */
export function EventDialog(props: { passing: TailEvent; names: NameLookup; onClose: () => void }) {
  const { passing, names, onClose } = props;
  const { received, outcomes, sourceId, at, messageId } = passing;
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
            <p class="quiet">It was received before this tail was opened.</p>
          ) : (
            <JsonBlock value={received} what="received event" />
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
              <JsonBlock value={outcome.event} what="event at the destination" />
            )}
          </section>
        ))}
      </div>
      <div class="ends">
        <Button
          icon="code"
          disabledReason={received === undefined ? "It is not known as it was received" : undefined}
          onClick={() => {
            addSampleEvent(received, "Live tail");
            showToast("The editor has it among its test events");
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
