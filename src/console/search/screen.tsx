import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { DateTimeField, SelectField, TextField } from "../components/forms/fields.tsx";
import { Badge, EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { Name } from "../components/name.tsx";
import { NameField } from "../components/name-select.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import { type NameLookup, useNames } from "../data/use-names.ts";
import { hrefTo, replaceQuery, type ScreenProps } from "../router.ts";
import { EventDialog } from "../tail/event-dialog.tsx";
import { commonTexts } from "../texts/common.ts";
import { searchTexts } from "../texts/search.ts";
import {
  outcomeOptions,
  readSearchForm,
  replayHref,
  type SearchForm,
  searchFields,
  searchQuery,
} from "./search-form.ts";
import { type EventSearch, type FoundEvent, useSearch } from "./use-search.ts";

const USER_CHARS_MAX = 100;

/** Screen that searches stored events by user, message, name, source and time. */
export function Screen({ query }: ScreenProps) {
  const names = useNames();
  const form = readSearchForm(query);
  const result = useSearch(form);
  const replay = replayHref(form);
  const [openEvent, setOpenEvent] = useState<FoundEvent>();
  const { items: events, error, restart } = result;
  return (
    <>
      <ScreenHeader title={commonTexts.eventSearch}>
        {replay !== undefined && (
          <a class="button" href={replay}>
            {searchTexts.replayThese}
          </a>
        )}
        <a class="button" href={`/v2/events/search/export?${exportParameters(form)}`} download>
          {commonTexts.exportJsonl}
        </a>
      </ScreenHeader>
      <SearchPanel key={JSON.stringify(form)} submitted={form} restart={restart} />
      <ErrorNotice error={error} retry={restart} />
      {(events !== undefined || error === undefined) && (
        <Panel flush>
          <Table
            label={commonTexts.results}
            columns={columnsOf(names, setOpenEvent)}
            rows={events}
            keyOf={({ messageId }) => messageId}
            empty={<NoResults isComplete={result.last?.stopped === undefined} />}
          />
          <SearchFooter result={result} />
        </Panel>
      )}
      {openEvent && (
        <EventDialog
          event={{
            ...openEvent,
            at: openEvent.receivedAt,
            firstAt: openEvent.receivedAt,
            received: openEvent.event,
            hasAllOutcomes: true,
          }}
          names={names}
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
  const { submitted, restart } = props;
  const [form, setForm] = useState(submitted);
  const onChange = (name: keyof SearchForm) => (value: string) =>
    setForm({ ...form, [name]: value });
  const input = (name: keyof SearchForm) => ({ value: form[name], onInput: onChange(name) });
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault();
        // Submitting an unchanged form searches again, because newer events may have arrived.
        if (JSON.stringify(form) === JSON.stringify(submitted)) restart();
        else replaceQuery({ ...form });
      }}
    >
      <div class="inside search-form">
        <SelectField
          label={commonTexts.field}
          value={form.by}
          options={searchFields}
          onChange={onChange("by")}
        />
        <TextField label={commonTexts.value} maxLength={1_024} {...input("text")} />
        <NameField
          kind="source"
          label={commonTexts.source}
          none={commonTexts.allSources}
          value={form.sourceId}
          onChange={onChange("sourceId")}
        />
        <SelectField
          label={commonTexts.outcome}
          value={form.outcome}
          options={outcomeOptions}
          onChange={onChange("outcome")}
        />
        <DateTimeField label={commonTexts.receivedFrom} {...input("from")} />
        <DateTimeField label={commonTexts.receivedBefore} {...input("to")} />
        <Button kind="main" icon="search" type="submit">
          {commonTexts.search}
        </Button>
      </div>
    </form>
  );
}

function columnsOf(names: NameLookup, open: (event: FoundEvent) => void): Column<FoundEvent>[] {
  return [
    {
      title: commonTexts.received,
      kind: "narrow",
      cell: ({ receivedAt }) => <Time at={receivedAt} exact />,
    },
    {
      title: commonTexts.event,
      kind: "name",
      cell: (result) => (
        <button type="button" class="link cut" onClick={() => open(result)}>
          {eventName(result.event)}
        </button>
      ),
    },
    { title: commonTexts.source, cell: ({ sourceId }) => <Name>{names.source(sourceId)}</Name> },
    {
      title: searchTexts.userColumn,
      cell: ({ event }) => <span class="cut">{userOf(event)}</span>,
    },
    {
      title: commonTexts.outcome,
      cell: ({ outcomes, refused }) =>
        refused === undefined ? (
          <Outcomes outcomes={outcomes} names={names} />
        ) : (
          <span title={commonTexts.refused}>
            <Badge tone="bad" flat>
              {refused}
            </Badge>
          </span>
        ),
    },
  ];
}

const tones = { "in-flight": "accent", "dead-letter": "bad", settled: "good" } as const;

/** Outcome of an event at each destination. A dead letter links to its page. */
function Outcomes(props: { outcomes: FoundEvent["outcomes"]; names: NameLookup }) {
  if (props.outcomes.length === 0) {
    return <span class="quiet">{commonTexts.noDestination}</span>;
  }
  return (
    <span class="badges">
      {props.outcomes.map(({ destinationId, outcome, deadLetterId }) => {
        const name = props.names.destination(destinationId);
        const tone = outcome in tones ? tones[outcome as keyof typeof tones] : undefined;
        const badge = (
          <Badge {...(tone && { tone })} flat>
            <Name>{name}</Name>: {searchTexts.outcomes[outcome]}
          </Badge>
        );
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

/**
 * Footer of the search result. It shows the number of events and how far back the search got. Its
 * button searches further back.
 */
function SearchFooter({
  result: { items: events = [], last, loadOlder },
}: {
  result: EventSearch;
}) {
  if (last === undefined) return null;
  const { stopped, reachedAt, hasNewer } = last;
  if (stopped === undefined && events.length === 0 && !hasNewer) return null;
  return (
    <p class="pages">
      <span>
        {stopped === undefined
          ? searchTexts.allFound(events.length)
          : searchTexts.foundBackTo(events.length, reachedAt && <Time at={reachedAt} exact />)}
        {hasNewer && searchTexts.hasNewer}
      </span>
      {stopped !== undefined && (
        <Button compact onClick={loadOlder}>
          {commonTexts.loadOlder}
        </Button>
      )}
    </p>
  );
}

function NoResults({ isComplete }: { isComplete: boolean }) {
  if (!isComplete) {
    return (
      <EmptyState icon="clock" title={searchTexts.noResultsYet}>
        {searchTexts.noResultsYetHint}
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="search" title={searchTexts.noResults}>
      {searchTexts.noResultsHint}
    </EmptyState>
  );
}
