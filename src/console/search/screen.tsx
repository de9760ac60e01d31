import { useState } from "preact/hooks";
import { LinkButton } from "../components/button.tsx";
import { DateTimeField, SelectField, TextField } from "../components/forms/fields.tsx";
import { FilterForm } from "../components/forms/filter-form.tsx";
import { ItemName } from "../components/item-link.tsx";
import { Badge, ScreenHeader } from "../components/layout.tsx";
import { NameField } from "../components/name-select.tsx";
import { type Column, column, OlderRows, TablePanel } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import { useFirstNames } from "../data/use-names.ts";
import { hrefTo, type ScreenProps } from "../router.ts";
import { tailEventKey } from "../tail/event-buffer.ts";
import { EventDialog } from "../tail/event-dialog.tsx";
import { OutcomeBadge } from "../tail/tail-table.tsx";
import { commonTexts } from "../texts/common.ts";
import { searchTexts } from "../texts/search.ts";
import {
  type FoundEvent,
  outcomeOptions,
  readSearchForm,
  replayHref,
  type SearchForm,
  searchFields,
  searchQuery,
  useSearch,
} from "./search-form.ts";

const USER_CHARS_MAX = 100;

/** Screen that searches stored events by user, message id, name, source, outcome and time. */
export function Screen({ query }: ScreenProps) {
  useFirstNames();
  const form = readSearchForm(query);
  const replay = replayHref(form);
  const [openEvent, setOpenEvent] = useState<FoundEvent>();
  const { items: events, last, error, restart, loadOlder } = useSearch(form);
  const isComplete = last?.stopped === undefined;
  return (
    <>
      <ScreenHeader title={commonTexts.eventSearch}>
        {replay !== undefined && (
          <LinkButton needs="events:replay" href={replay}>
            {searchTexts.replayThese}
          </LinkButton>
        )}
        <a class="button" href={`/v2/events/search/export?${exportParameters(form)}`} download>
          {commonTexts.exportJsonl}
        </a>
      </ScreenHeader>
      <SearchPanel key={JSON.stringify(form)} submitted={form} restart={restart} />
      <TablePanel
        label={commonTexts.results}
        columns={columnsOf(setOpenEvent)}
        rows={events}
        keyOf={(event) => tailEventKey({ ...event, at: event.receivedAt })}
        empty={
          isComplete
            ? { icon: "search", ...searchTexts.noResults }
            : { icon: "clock", ...searchTexts.noResultsYet }
        }
        error={error}
        retry={restart}
      >
        {events && (events.length > 0 || !isComplete || last?.hasNewer) && (
          <OlderRows
            text={[
              isComplete
                ? searchTexts.allFound(events.length)
                : searchTexts.foundBackTo(
                    events.length,
                    last.reachedAt && <Time at={last.reachedAt} exact />,
                  ),
              last?.hasNewer && searchTexts.hasNewer,
            ]}
            isComplete={isComplete}
            loadOlder={loadOlder}
          />
        )}
      </TablePanel>
      {openEvent && (
        <EventDialog
          event={{
            ...openEvent,
            at: openEvent.receivedAt,
            firstAt: openEvent.receivedAt,
            received: openEvent.event,
            hasAllOutcomes: true,
          }}
          onClose={() => setOpenEvent(undefined)}
        />
      )}
    </>
  );
}

function exportParameters(form: SearchForm): URLSearchParams {
  return new URLSearchParams(
    Object.entries(searchQuery(form)).map(([name, value]) => [name, String(value)]),
  );
}

function SearchPanel(props: { submitted: SearchForm; restart: () => void }) {
  return (
    <FilterForm {...props} action={commonTexts.search}>
      {({ input, select }) => (
        <>
          <SelectField label={commonTexts.field} options={searchFields} {...select("by")} />
          <TextField label={commonTexts.value} maxLength={1_024} {...input("text")} />
          <NameField
            kind="source"
            label={commonTexts.source}
            none={commonTexts.allSources}
            {...select("sourceId")}
          />
          <SelectField
            label={commonTexts.outcome}
            options={outcomeOptions}
            {...select("outcome")}
          />
          <DateTimeField label={commonTexts.receivedFrom} {...input("from")} />
          <DateTimeField label={commonTexts.receivedBefore} {...input("to")} />
        </>
      )}
    </FilterForm>
  );
}

function columnsOf(open: (event: FoundEvent) => void): Column<FoundEvent>[] {
  return [
    column.narrow(commonTexts.received, ({ receivedAt }) => <Time at={receivedAt} exact />),
    column.name(commonTexts.event, (result) => (
      <button type="button" class="link cut" onClick={() => open(result)}>
        {eventName(result.event)}
      </button>
    )),
    column.plain(commonTexts.source, ({ sourceId }) => <ItemName kind="source" id={sourceId} />),
    column.plain(searchTexts.userColumn, ({ event }) => <span class="cut">{userOf(event)}</span>),
    column.wide(commonTexts.outcome, ({ outcomes, refused }) =>
      refused === undefined ? (
        <Outcomes outcomes={outcomes} />
      ) : (
        <span title={commonTexts.refused}>
          <Badge tone="bad" flat>
            {refused}
          </Badge>
        </span>
      ),
    ),
  ];
}

/**
 * Shows an event's outcome at each destination. If the event is a dead letter there, the outcome
 * links to the dead letter's page.
 */
function Outcomes({ outcomes }: Pick<FoundEvent, "outcomes">) {
  if (outcomes.length === 0) return <span class="quiet">{commonTexts.noDestination}</span>;
  return (
    <span class="badges">
      {outcomes.map(({ destinationId, outcome, deadLetterId }) => {
        const badge = <OutcomeBadge outcome={outcome} destinationId={destinationId} />;
        return deadLetterId === undefined ? (
          <span key={destinationId}>{badge}</span>
        ) : (
          <a key={destinationId} href={hrefTo("dead-letters", deadLetterId)}>
            {badge}
          </a>
        );
      })}
    </span>
  );
}

function userOf({ userId, anonymousId }: FoundEvent["event"]): string {
  const [user] = [userId, anonymousId].filter((it) => typeof it === "string" && it !== "");
  return String(user ?? "").slice(0, USER_CHARS_MAX);
}
