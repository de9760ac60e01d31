import { useRef, useState } from "preact/hooks";
import { Button, LinkButton } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { FilterSelect } from "../components/filter-select.tsx";
import { EmptyState, Panel, Skeleton } from "../components/layout.tsx";
import { Time } from "../components/time.tsx";
import { client, missingPermission } from "../data/session.ts";
import { useFirstNames } from "../data/use-names.ts";
import { useResource } from "../data/use-resource.ts";
import { hrefTo } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { tailTexts } from "../texts/tail.ts";
import { tailEventKey, tailEventOf } from "./event-buffer.ts";
import { EventDialog } from "./event-dialog.tsx";
import { outcomeOptions, TailTable } from "./tail-table.tsx";

const POLL_MS = 10_000;
/** Number of rows that the panel shows until the user asks for all. */
const ROWS_FIRST = 5;

type Outcome = (typeof outcomeOptions)[number]["value"];

/**
 * Panel with the latest events of a source or destination. Rows are not updated while the pointer
 * or the focus is in the table or an event is open, so that none moves. Hidden without the
 * permission `events:read`.
 */
export function RecentEvents({ of }: { of: { sourceId: string } | { destinationId: string } }) {
  if (missingPermission("events:read") !== undefined) return null;
  return <RecentEventsPanel key={JSON.stringify(of)} of={of} />;
}

function RecentEventsPanel({ of }: { of: { sourceId: string } | { destinationId: string } }) {
  useFirstNames();
  const [outcome, setOutcome] = useState<Outcome | "">("");
  const [isWhole, setWhole] = useState(false);
  const [openKey, setOpenKey] = useState<string>();
  const [isHeld, setHeld] = useState(false);
  const { value, error, reload } = useResource(
    async () => {
      const query = { ...of, ...(outcome && { outcome }) };
      const { events, ...more } = await client.call("GET /v2/events/recent", { query });
      return { ...more, events: events.map(tailEventOf), outcome };
    },
    [of, outcome],
    POLL_MS,
  );
  const held = useRef(value);
  const isFrozen = openKey !== undefined || isHeld;
  if (!isFrozen || held.current?.outcome !== outcome) held.current = value;
  const { events, missingNodes = [], reachedAt } = held.current ?? {};
  const search = hrefTo("search", "sourceId" in of ? of : {});
  const openEvent = events?.find((event) => tailEventKey(event) === openKey);
  return (
    <Panel
      title={tailTexts.recentEvents}
      flush
      actions={
        <>
          <FilterSelect
            label={commonTexts.outcome}
            all={commonTexts.allOutcomes}
            value={outcome}
            options={outcomeOptions}
            onChange={(chosen) => setOutcome(chosen as Outcome | "")}
          />
          <a href={hrefTo("events", of)}>{commonTexts.liveTail}</a>
        </>
      }
    >
      <ErrorNotice error={error} retry={reload} />
      {missingNodes.length > 0 && <p class="notice">{tailTexts.missingNodes(missingNodes)}</p>}
      {events === undefined ? (
        error === undefined && <Skeleton />
      ) : events.length === 0 ? (
        <NoRecentEvents isFiltered={outcome !== ""} search={search} />
      ) : (
        <TailTable
          label={tailTexts.recentEvents}
          events={isWhole ? events : events.slice(0, ROWS_FIRST)}
          open={setOpenKey}
          of={"sourceId" in of ? "source" : "destination"}
          onHold={setHeld}
        />
      )}
      {!isWhole && events !== undefined && events.length > ROWS_FIRST && (
        <p class="pages">
          <Button compact onClick={() => setWhole(true)}>
            {tailTexts.showAll(events.length)}
          </Button>
        </p>
      )}
      {reachedAt !== undefined && (
        <p class="inside quiet small">
          {tailTexts.readBackTo(
            <Time at={reachedAt} exact />,
            <a href={search}>{commonTexts.eventSearch}</a>,
          )}
        </p>
      )}
      {openEvent && <EventDialog event={openEvent} onClose={() => setOpenKey(undefined)} />}
    </Panel>
  );
}

function NoRecentEvents({ isFiltered, search }: { isFiltered: boolean; search: string }) {
  if (isFiltered) return <p class="inside quiet">{tailTexts.noRecentMatches}</p>;
  const link = <LinkButton href={search}>{commonTexts.eventSearch}</LinkButton>;
  return <EmptyState icon="tail" {...tailTexts.noRecentEvents} action={link} />;
}
