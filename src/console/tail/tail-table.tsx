import { Component, Fragment } from "preact";
import { useEffect } from "preact/hooks";
import { ClampedText } from "../components/clamped-text.tsx";
import { Badge, type Tone } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import type { NameLookup } from "../data/use-names.ts";
import { commonTexts } from "../texts/common.ts";
import { tailTexts } from "../texts/tail.ts";
import type { DestinationOutcome, TailEvent } from "./event-buffer.ts";

interface TailTableProps {
  /** Name of the table for screen readers. */
  label?: string;
  events: readonly TailEvent[];
  names: NameLookup;
  open: (messageId: string) => void;
  /**
   * `source` if all events have the same source, `destination` if all outcomes are of the same
   * destination. The table then omits the name of this source or destination. Absent if there are
   * several.
   */
  of?: "source" | "destination" | undefined;
}

/** Reasons why no row of the table may move: the pointer is over it, or it has the focus. */
export interface TailHolds {
  pointer: boolean;
  focus: boolean;
}

export const noHolds: TailHolds = { pointer: false, focus: false };

/**
 * Table of events. Calls `hold` when the pointer enters or leaves, and when the focus moves into
 * the table or out of it, so that no row moves under the user.
 */
export function TailTable({
  label = commonTexts.events,
  events,
  names,
  open,
  hold,
  of,
}: TailTableProps & { hold: (change: Partial<TailHolds>) => void }) {
  useEffect(() => () => hold(noHolds), []);
  return (
    <section
      class="table tail"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs keyboard focus
      tabIndex={0}
      onPointerEnter={() => hold({ pointer: true })}
      onPointerLeave={() => hold({ pointer: false })}
      onFocusIn={({ target }) => {
        hold({ focus: target instanceof Element && target.matches(":focus-visible") });
      }}
      onFocusOut={() => hold({ focus: false })}
    >
      <table>
        <thead>
          <tr>
            <th scope="col">{commonTexts.received}</th>
            <th scope="col">{commonTexts.event}</th>
            {of !== "source" && <th scope="col">{commonTexts.source}</th>}
            <th scope="col">{commonTexts.outcome}</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <TailRow key={event.messageId} event={event} names={names} open={open} of={of} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface TailRowProps extends Omit<TailTableProps, "label" | "events"> {
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

  override render({ event, names, open, of }: TailRowProps) {
    const { messageId, sourceId, at, received, outcomes } = event;
    return (
      <tr>
        <td class="narrow" data-title={commonTexts.received}>
          <Time at={at} exact />
        </td>
        <td class="name" data-title={commonTexts.event}>
          <button type="button" class="link cut" onClick={() => open(messageId)}>
            {eventName(received ?? outcomes[0]?.event)}
          </button>
        </td>
        {of !== "source" && (
          <td class="quiet" data-title={commonTexts.source}>
            <Name>{names.source(sourceId)}</Name>
          </td>
        )}
        <td class="wide" data-title={commonTexts.outcome}>
          <span class="row">
            <OutcomeBadges event={event} names={names} of={of} />
          </span>
        </td>
      </tr>
    );
  }
}

/** Badges with the outcome of an event at each destination, as far as it is known. */
function OutcomeBadges({ event, names, of }: Pick<TailRowProps, "event" | "names" | "of">) {
  const { outcomes, refused, hasAllOutcomes } = event;
  if (refused !== undefined) return <Badge tone="bad">{commonTexts.refused}</Badge>;
  if (outcomes.length === 0) {
    if (hasAllOutcomes) return <span class="quiet">{commonTexts.noDestination}</span>;
    return <Badge tone="accent">{tailTexts.outcomeNames["in-flight"]}</Badge>;
  }
  return (
    <>
      {outcomes.map((outcome, index) =>
        of === "destination" ? (
          <Fragment key={index}>
            <OutcomeBadge outcome={outcome.outcome} />
            {outcome.reason && <ClampedText tone="bad" text={outcome.reason} />}
          </Fragment>
        ) : (
          <OutcomeBadge
            key={index}
            outcome={outcome.outcome}
            name={names.destination(outcome.destinationId)}
          />
        ),
      )}
    </>
  );
}

export const outcomeTones: Record<string, Tone | undefined> = {
  delivered: "good",
  settled: "good",
  dropped: "warn",
  "dead-letter": "bad",
  "in-flight": "accent",
};

/** Badge with an outcome, and with the name of its destination if it is given. */
export function OutcomeBadge(props: { outcome: DestinationOutcome["outcome"]; name?: string }) {
  const { outcome, name } = props;
  return (
    <Badge tone={outcomeTones[outcome]}>
      {name === undefined ? tailTexts.outcomeNames[outcome] : tailTexts.outcomeAt(name, outcome)}
    </Badge>
  );
}

/** Outcomes by which the events of a table can be filtered. */
export const outcomeOptions = [
  { value: "delivered", text: commonTexts.delivered },
  { value: "dropped", text: commonTexts.dropped },
  { value: "dead-letter", text: tailTexts.outcomeNames["dead-letter"] },
  { value: "in-flight", text: tailTexts.outcomeNames["in-flight"] },
  { value: "repeated", text: tailTexts.outcomeNames.repeated },
  { value: "not-connected", text: tailTexts.outcomeNames["not-connected"] },
] as const;
