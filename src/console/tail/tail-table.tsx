import { Component } from "preact";
import { Badge } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import type { NameLookup } from "../data/use-names.ts";
import type { DestinationOutcome, TailEvent } from "./event-buffer.ts";

interface TailTableProps {
  events: readonly TailEvent[];
  names: NameLookup;
  open: (messageId: string) => void;
}

export function TailTable({ events, names, open }: TailTableProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs keyboard focus
    <section class="table" aria-label="Events" tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Received</th>
            <th scope="col">Event</th>
            <th scope="col">Source</th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <TailRow key={event.messageId} event={event} names={names} open={open} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface TailRowProps extends Omit<TailTableProps, "events"> {
  event: TailEvent;
}

/**
 * Row of the table of new events (live tail). It is rendered again only when its event or the names
 * change, because a table of a busy tail has 200 rows.
 */
class TailRow extends Component<TailRowProps> {
  override shouldComponentUpdate(next: Readonly<TailRowProps>): boolean {
    return next.event !== this.props.event || next.names !== this.props.names;
  }

  override render({ event, names, open }: TailRowProps) {
    const { messageId, sourceId, at, received, outcomes } = event;
    return (
      <tr>
        <td class="narrow">
          <Time at={at} />
        </td>
        <td class="name">
          <button type="button" class="link cut" onClick={() => open(messageId)}>
            {eventName(received ?? outcomes[0]?.event)}
          </button>
        </td>
        <td class="quiet">{names.source(sourceId)}</td>
        <td>
          <span class="row">
            {outcomes.length === 0 && <Badge tone="accent">in flight</Badge>}
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
  }
}

const tones = { delivered: "good", dropped: "warn", "dead-letter": "bad" } as const;
const suffixes = { delivered: "", dropped: " dropped", "dead-letter": " failed" } as const;

export function OutcomeBadge({ outcome, name }: { outcome: DestinationOutcome; name: string }) {
  const { stage } = outcome;
  return (
    <Badge tone={tones[stage]}>
      {name}
      {suffixes[stage]}
    </Badge>
  );
}
