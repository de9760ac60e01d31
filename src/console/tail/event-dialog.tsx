import { Button } from "../components/button.tsx";
import { JsonBlock } from "../components/code-block.tsx";
import { Dialog } from "../components/dialog.tsx";
import { NamedLink } from "../components/item-link.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { eventName } from "../data/event-name.ts";
import { addSampleEvent } from "../data/sample-events.ts";
import { type NameLookup, useNames } from "../data/use-names.ts";
import { useAnswer } from "../data/use-resource.ts";
import { FoldedResponse } from "../dead-letters/receiver-response.tsx";
import { hrefTo } from "../router.ts";
import { MakeTestCase } from "../testing/make-test-case.tsx";
import { commonTexts } from "../texts/common.ts";
import { tailTexts } from "../texts/tail.ts";
import type { DestinationOutcome, TailEvent } from "./event-buffer.ts";
import { changesOf } from "./event-changes.ts";
import { OutcomeBadge } from "./tail-table.tsx";

const STATUS_MS = 5_000;

/** Dialog that shows an event as it was received, and its outcome at each destination. */
export function EventDialog({ event, onClose }: { event: TailEvent; onClose: () => void }) {
  const names = useNames();
  const { received, refused, outcomes, sourceId, at, messageId } = event;
  return (
    <Dialog title={eventName(received ?? outcomes[0]?.event)} onClose={onClose} broad>
      <p class="row quiet">
        <span>{tailTexts.from(<NamedLink kind="source" id={sourceId} />)}</span>
        <Time at={at} exact />
        <code class="small">{messageId}</code>
      </p>
      {refused !== undefined && <p class="bad">{tailTexts.refusedExplained(refused)}</p>}
      {outcomes.length === 0 && event.hasAllOutcomes && refused === undefined && (
        <p class="quiet">{commonTexts.noDestination}</p>
      )}
      <div class="columns even">
        <section class="stack close" aria-label={commonTexts.received}>
          <h3>{commonTexts.received}</h3>
          {received === undefined ? (
            <p class="quiet">{tailTexts.receivedEarlier}</p>
          ) : (
            <JsonBlock value={received} name={tailTexts.receivedEventNoun} />
          )}
        </section>
        {labelled(outcomes, names).map(({ outcome, label }, index) => (
          <section class="stack close" key={index} aria-label={label}>
            <h3 class="row">
              <OutcomeBadge {...outcome} />
            </h3>
            <OutcomeDetails outcome={outcome} label={label} received={received} />
          </section>
        ))}
      </div>
      <div class="ends">
        <Button
          icon="code"
          disabledReason={received === undefined ? tailTexts.receivedEarlier : undefined}
          onClick={() => {
            addSampleEvent(received);
            showToast(tailTexts.savedAsTestEvent);
          }}
        >
          {tailTexts.useAsTestEvent}
        </Button>
        <MakeTestCase event={received} />
      </div>
    </Dialog>
  );
}

/** Shows the reason of an event's outcome at a destination, and how code changed the event. */
function OutcomeDetails(props: { outcome: DestinationOutcome; label: string; received: unknown }) {
  const { outcome, label, received } = props;
  const { event, reason, response, deadLetterId } = outcome;
  const isShown = event !== undefined && outcome.outcome !== "dropped";
  const changes = isShown && received !== undefined ? changesOf(received, event) : undefined;
  return (
    <>
      {reason && <p class="bad">{reason}</p>}
      {response && <FoldedResponse response={response} />}
      {outcome.outcome === "in-flight" && <Waiting destinationId={outcome.destinationId} />}
      {!isShown && !reason && <p class="quiet">{tailTexts.explanations[outcome.outcome]}</p>}
      {deadLetterId && (
        <a href={hrefTo("dead-letters", deadLetterId)}>{tailTexts.openDeadLetter}</a>
      )}
      {changes && (
        <p class="quiet small">
          {tailTexts.changes(changes.lines.size, changes.removed) || tailTexts.unchanged}
        </p>
      )}
      {isShown && (
        <JsonBlock
          value={event}
          name={tailTexts.eventAt(label)}
          {...(changes && { marked: changes.lines })}
        />
      )}
    </>
  );
}

/** Shows how many events wait for a destination and, if known, since when and why. */
function Waiting({ destinationId: id }: { destinationId: string }) {
  const key = "GET /v2/status/destinations/{id}";
  const { value } = useAnswer(key, { params: { id } }, STATUS_MS);
  if (value === undefined) return null;
  const { state, since, reason, lagEvents, lagSeconds } = value.destination;
  const waitsFor = (tailTexts.waitsFor as Record<string, string>)[state];
  return (
    <div class="stack close">
      {waitsFor && <p class="warn">{waitsFor}</p>}
      {since && reason && <p class="bad">{tailTexts.reasonSince(reason, <Time at={since} />)}</p>}
      {lagEvents > 0 && <p class="quiet">{tailTexts.pending(lagEvents, lagSeconds)}</p>}
    </div>
  );
}

/**
 * Returns the outcomes with labels. A label is the destination's name and, unless the outcome is
 * the first one at its destination, a number.
 */
function labelled(outcomes: TailEvent["outcomes"], names: NameLookup) {
  const counts = new Map<string, number>();
  return outcomes.map((outcome) => {
    const { destinationId } = outcome;
    const number = (counts.get(destinationId) ?? 0) + 1;
    counts.set(destinationId, number);
    const name = names.destination(destinationId);
    return { outcome, label: number === 1 ? name : tailTexts.numberedOutcome(name, number) };
  });
}
