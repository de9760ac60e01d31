import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { includeCurrent, optionsOf, SelectField, TextField } from "../components/forms/fields.tsx";
import { EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import { type NameLookup, useNames } from "../data/use-names.ts";
import { pluralize } from "../format.ts";
import { replaceQuery, type ScreenProps } from "../router.ts";
import { EventDialog } from "../tail/event-dialog.tsx";
import { readSearchForm, type SearchForm, searchFields } from "./search-form.ts";
import { type EventSearch, type FoundEvent, useSearch } from "./use-search.ts";

const USER_CHARS_MAX = 100;

/** Screen that searches stored events by user, message, name, source and time. */
export function Screen({ query }: ScreenProps) {
  const names = useNames();
  const form = readSearchForm(query);
  const result = useSearch(form);
  const [openEvent, setOpenEvent] = useState<FoundEvent>();
  const { events, error, restart } = result;
  return (
    <>
      <ScreenHeader title="Event search" />
      <SearchPanel key={JSON.stringify(form)} submitted={form} names={names} restart={restart} />
      <ErrorNotice error={error} retry={restart} />
      {(events !== undefined || error === undefined) && (
        <Panel flush>
          <Table
            label="Results"
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
            received: openEvent.event,
            outcomes: [],
          }}
          names={names}
          onClose={() => setOpenEvent(undefined)}
        />
      )}
    </>
  );
}

function SearchPanel(props: { submitted: SearchForm; names: NameLookup; restart: () => void }) {
  const { submitted, names, restart } = props;
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
          label="Field"
          value={form.by}
          options={searchFields}
          onChange={onChange("by")}
        />
        <TextField label="Value" maxLength={1_024} {...input("text")} />
        <SelectField
          label="Source"
          value={form.sourceId}
          options={[
            { value: "", text: "All sources" },
            ...includeCurrent(optionsOf(names.sources), form.sourceId),
          ]}
          onChange={onChange("sourceId")}
        />
        <TextField label="Received from" type="datetime-local" {...input("from")} />
        <TextField label="Received before" type="datetime-local" {...input("to")} />
        <Button kind="main" icon="search" type="submit">
          Search
        </Button>
      </div>
    </form>
  );
}

function columnsOf(names: NameLookup, open: (event: FoundEvent) => void): Column<FoundEvent>[] {
  return [
    { title: "Received", kind: "narrow", cell: ({ receivedAt }) => <Time at={receivedAt} /> },
    {
      title: "Event",
      kind: "name",
      cell: (result) => (
        <button type="button" class="link cut" onClick={() => open(result)}>
          {eventName(result.event)}
        </button>
      ),
    },
    { title: "Source", cell: ({ sourceId }) => names.source(sourceId) },
    { title: "User", cell: ({ event }) => <span class="cut">{userOf(event)}</span> },
  ];
}

function userOf({ userId, anonymousId }: FoundEvent["event"]): string {
  const [user] = [userId, anonymousId].filter((it) => typeof it === "string" && it !== "");
  return String(user ?? "").slice(0, USER_CHARS_MAX);
}

/**
 * Footer of the search result. It shows the number of events and how far back the search got. Its
 * button searches further back.
 */
function SearchFooter({ result: { events = [], last, loadOlder } }: { result: EventSearch }) {
  if (last === undefined) return null;
  const { stopped, reachedAt } = last;
  if (stopped === undefined && events.length === 0) return null;
  return (
    <p class="pages">
      <span>
        {pluralize(events.length, "event")}
        {stopped === undefined && ", end of results"}
        {stopped !== undefined && reachedAt !== undefined && (
          <>
            , back to <Time at={reachedAt} />
          </>
        )}
      </span>
      {stopped !== undefined && (
        <Button compact onClick={loadOlder}>
          Load older
        </Button>
      )}
    </p>
  );
}

function NoResults({ isComplete }: { isComplete: boolean }) {
  if (!isComplete) {
    return (
      <EmptyState icon="clock" title="No results yet">
        Older events have not been searched.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="search" title="No results">
      Events are stored until every destination has them, and after that for the retention time that
      System shows.
    </EmptyState>
  );
}
