import { Fragment } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { ItemName } from "../components/item-link.tsx";
import { Badge, ClampedText, type Tone } from "../components/layout.tsx";
import { type Column, column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import { useNames } from "../data/use-names.ts";
import { commonTexts } from "../texts/common.ts";
import { tailTexts } from "../texts/tail.ts";
import { type DestinationOutcome, type TailEvent, tailEventKey } from "./event-buffer.ts";

/**
 * Table of events. While the pointer is over it or it has the focus, `onHold` asks the parent not
 * to move rows.
 */
export function TailTable(props: {
  /** Name of the table for screen readers. */
  label?: string;
  events: readonly TailEvent[];
  open: (key: string) => void;
  /**
   * Kind of the item to which the table is limited: all events are from one source, or all outcomes
   * are at one destination. The table omits this item's name. Absent if the table is not limited.
   */
  of?: "source" | "destination";
  /**
   * Tells the parent whether the pointer or the focus is in the table: true when one of them
   * enters, and false when both have left. In between, the parent must not move rows.
   */
  onHold: (isHeld: boolean) => void;
}) {
  const { label = commonTexts.events, events, open, of, onHold } = props;
  const holds = useRef({ pointer: false, focus: false });
  const hold = (change: { pointer: boolean } | { focus: boolean }) => {
    Object.assign(holds.current, change);
    onHold(holds.current.pointer || holds.current.focus);
  };
  useEffect(() => () => onHold(false), []);
  const columns = useMemo(() => columnsOf(open, of), [of]);
  return (
    <div
      class="tail"
      onPointerEnter={() => hold({ pointer: true })}
      onPointerLeave={() => hold({ pointer: false })}
      onFocusIn={({ target }) => {
        hold({ focus: target instanceof Element && target.matches(":focus-visible") });
      }}
      onFocusOut={() => hold({ focus: false })}
    >
      <Table label={label} columns={columns} rows={events} keyOf={tailEventKey} />
    </div>
  );
}

type Scope = "source" | "destination" | undefined;

function columnsOf(open: (key: string) => void, of: Scope): Column<TailEvent>[] {
  const source = column.plain<TailEvent>(commonTexts.source, ({ sourceId }) => (
    <span class="quiet">
      <ItemName kind="source" id={sourceId} />
    </span>
  ));
  return [
    column.narrow(commonTexts.received, ({ at }) => <Time at={at} exact />),
    column.name(commonTexts.event, (event) => (
      <button type="button" class="link cut" onClick={() => open(tailEventKey(event))}>
        {eventName(event.received ?? event.outcomes[0]?.event)}
      </button>
    )),
    ...(of === "source" ? [] : [source]),
    column.wide(commonTexts.outcome, (event) => (
      <span class="row">
        <OutcomeBadges event={event} of={of} />
      </span>
    )),
  ];
}

/** Badges with the outcome of an event at each destination, as far as it is known. */
function OutcomeBadges({ event, of }: { event: TailEvent; of: Scope }) {
  const { outcomes, refused, hasAllOutcomes } = event;
  if (refused !== undefined) return <Badge tone="bad">{commonTexts.refused}</Badge>;
  if (outcomes.length === 0) {
    if (hasAllOutcomes) return <span class="quiet">{commonTexts.noDestination}</span>;
    return <Badge tone="accent">{tailTexts.outcomeNames["in-flight"]}</Badge>;
  }
  if (of !== "destination")
    return outcomes.map((it, index) => <OutcomeBadge key={index} {...it} />);
  return outcomes.map(({ outcome, reason }, index) => (
    <Fragment key={index}>
      <Badge tone={outcomeTones[outcome]}>{tailTexts.outcomeNames[outcome]}</Badge>
      {reason && <ClampedText tone="bad" text={reason} />}
    </Fragment>
  ));
}

export const outcomeTones: Record<string, Tone | undefined> = {
  delivered: "good",
  settled: "good",
  dropped: "warn",
  "dead-letter": "bad",
  "in-flight": "accent",
};

/** Badge with the name of a destination, and the outcome of an event there. */
export function OutcomeBadge(props: Pick<DestinationOutcome, "outcome" | "destinationId">) {
  const { outcome, destinationId } = props;
  const name = useNames().destination(destinationId);
  return <Badge tone={outcomeTones[outcome]}>{tailTexts.outcomeAt(name, outcome)}</Badge>;
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
