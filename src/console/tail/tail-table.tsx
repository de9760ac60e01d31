import { Badge } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import type { NameLookup } from "../data/list-all.ts";
import type { DestinationOutcome, TailEvent } from "./event-buffer.ts";
import { memo } from "./memo.ts";

interface TableProps {
  events: readonly TailEvent[];
  names: NameLookup;
  open: (messageId: string) => void;
}

export function TailTable({ events, names, open }: TableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section class="table" aria-label="Events" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Received</th>
            <th scope="col">Event</th>
            <th scope="col">Source</th>
            <th scope="col">What became of it</th>
          </tr>
        </thead>
        <tbody>
          {events.map((passing) => (
            <TailRow key={passing.messageId} passing={passing} names={names} open={open} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps extends Omit<TableProps, "events"> {
  passing: TailEvent;
}

/** Drawn again only when something happened to its event. */
const TailRow = memo(({ passing, names, open }: RowProps) => {
  const { messageId, sourceId, at, outcomes } = passing;
  return (
    <tr>
      <td class="narrow">
        <Time at={at} />
      </td>
      <td class="name">
        <button type="button" class="link cut" onClick={() => open(messageId)}>
          {eventName(passing.received ?? outcomes[0]?.event)}
        </button>
      </td>
      <td class="quiet">{names.source(sourceId)}</td>
      <td>
        <span class="row">
          {outcomes.length === 0 && <Badge tone="accent">under way</Badge>}
          {outcomes.map((outcome) => (
            <OutcomeBadge
              key={outcome.destinationId + outcome.at}
              outcome={outcome}
              name={names.destination(outcome.destinationId)}
            />
          ))}
        </span>
      </td>
    </tr>
  );
});

const tones = { delivered: "good", dropped: "warn", "dead-letter": "bad" } as const;
const words = { delivered: "", dropped: " dropped", "dead-letter": " failed" } as const;

export function OutcomeBadge({ outcome, name }: { outcome: DestinationOutcome; name: string }) {
  const { stage } = outcome;
  return (
    <Badge tone={tones[stage]}>
      {name}
      {words[stage]}
    </Badge>
  );
}
