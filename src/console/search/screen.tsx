import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SelectField, TextField } from "../components/forms/fields.tsx";
import { EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { Table, type TableColumn } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { eventName } from "../data/event-name.ts";
import { type NameLookup, useNames } from "../data/list-all.ts";
import { pluralize } from "../format.ts";
import { replaceQuery, type ScreenProps } from "../router.ts";
import { EventDialog } from "../tail/event-dialog.tsx";
import { readSearchForm, type SearchForm, searchFields } from "./search-form.ts";
import { type FoundEvent, type SearchResult, useSearch } from "./use-search.ts";

/** Events that the server still holds, by who sent them, what they are, and when they came. */
export function Screen({ query }: ScreenProps) {
  const names = useNames();
  const question = readSearchForm(query);
  const searching = useSearch(question);
  const [opened, setOpened] = useState<FoundEvent>();
  const { events, error, restart } = searching;
  return (
    <>
      <ScreenHeader title="Event search" />
      <SearchFormPanel
        key={JSON.stringify(question)}
        question={question}
        names={names}
        again={restart}
      />
      <ErrorNotice error={error} retry={restart} />
      {(events !== undefined || error === undefined) && (
        <Panel flush>
          <Table
            label="Events found"
            columns={columnsOf(names, setOpened)}
            rows={events}
            keyOf={({ messageId }) => messageId}
            empty={<NoResults isAtEnd={searching.last?.stopped === undefined} />}
          />
          <SearchFooter searching={searching} />
        </Panel>
      )}
      {opened && (
        <EventDialog
          passing={{ ...opened, at: opened.receivedAt, received: opened.event, outcomes: [] }}
          names={names}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}

function SearchFormPanel(props: { question: SearchForm; names: NameLookup; again: () => void }) {
  const { question, names, again } = props;
  const [wanted, setWanted] = useState(question);
  const set = (change: Partial<SearchForm>) => setWanted({ ...wanted, ...change });
  const sources = names.sources.map(({ id, name }) => ({ value: id, text: name }));
  const isListed = wanted.sourceId === "" || sources.some(({ value }) => value === wanted.sourceId);
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault();
        // The same question once more: newer events may have come.
        if (JSON.stringify(wanted) === JSON.stringify(question)) again();
        else replaceQuery({ ...wanted });
      }}
    >
      <div class="inside asked">
        <SelectField
          label="Look for"
          value={wanted.by}
          options={searchFields}
          onChange={(by) => set({ by: by as SearchForm["by"] })}
        />
        <TextField
          label="That is"
          value={wanted.text}
          maxLength={1_024}
          onInput={(text) => set({ text })}
        />
        <SelectField
          label="Source"
          value={wanted.sourceId}
          options={[
            { value: "", text: "All sources" },
            ...(isListed ? [] : [{ value: wanted.sourceId, text: wanted.sourceId }]),
            ...sources,
          ]}
          onChange={(sourceId) => set({ sourceId })}
        />
        <TextField
          label="Received from"
          type="datetime-local"
          value={wanted.from}
          onInput={(from) => set({ from })}
        />
        <TextField
          label="Received before"
          type="datetime-local"
          value={wanted.to}
          onInput={(to) => set({ to })}
        />
        <Button kind="main" icon="search" type="submit">
          Search
        </Button>
      </div>
    </form>
  );
}

function columnsOf(
  names: NameLookup,
  open: (event: FoundEvent) => void,
): TableColumn<FoundEvent>[] {
  return [
    { title: "Received", kind: "narrow", cell: ({ receivedAt }) => <Time at={receivedAt} /> },
    {
      title: "Event",
      kind: "name",
      cell: (found) => (
        <button type="button" class="link cut" onClick={() => open(found)}>
          {eventName(found.event)}
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

const USER_CHARS_MAX = 100;

/** How far the search came, and the way on. */
function SearchFooter({
  searching: { events = [], last, loadOlder },
}: {
  searching: SearchResult;
}) {
  if (last === undefined) return null;
  const { stopped, reachedAt } = last;
  if (stopped === undefined && events.length === 0) return null;
  return (
    <p class="pages">
      <span>
        {pluralize(events.length, "event")}
        {stopped === undefined && ", that is all"}
        {stopped !== undefined && reachedAt !== undefined && (
          <>
            , back to <Time at={reachedAt} />
          </>
        )}
      </span>
      {stopped !== undefined && (
        <Button compact onClick={loadOlder}>
          Search further back
        </Button>
      )}
    </p>
  );
}

function NoResults({ isAtEnd }: { isAtEnd: boolean }) {
  if (!isAtEnd) {
    return (
      <EmptyState icon="clock" title="Nothing found yet">
        There is more to look through.
      </EmptyState>
    );
  }
  return (
    <EmptyState icon="search" title="No event that is still there fits">
      Events are kept until every destination has them, and after that for as long as the server is
      set up to keep them: System says for how long.
    </EmptyState>
  );
}
