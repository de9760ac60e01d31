import { useState } from "preact/hooks";
import { nameOf } from "../event-name.ts";
import { type Names, useNames } from "../every.ts";
import { Button } from "../parts/button.tsx";
import { Fault } from "../parts/fault.tsx";
import { SelectField, TextField } from "../parts/field.tsx";
import { Empty, Head, Panel } from "../parts/layout.tsx";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { replaceQuery, type ScreenProps } from "../router.ts";
import { Opened } from "../tail/opened.tsx";
import { plural } from "../text.ts";
import { keys, type Question, questionOf } from "./question.ts";
import { type FoundEvent, type Searching, useSearch } from "./search.ts";

/** Events that the server still holds, by who sent them, what they are, and when they came. */
export function Screen({ query }: ScreenProps) {
  const names = useNames();
  const question = questionOf(query);
  const searching = useSearch(question);
  const [opened, setOpened] = useState<FoundEvent>();
  const { events, error, again } = searching;
  return (
    <>
      <Head title="Event search" />
      <Ask key={JSON.stringify(question)} question={question} names={names} again={again} />
      <Fault error={error} retry={again} />
      {(events !== undefined || error === undefined) && (
        <Panel flush>
          <Table
            label="Events found"
            columns={columnsOf(names, setOpened)}
            rows={events}
            keyOf={({ messageId }) => messageId}
            empty={<Nothing isAtEnd={searching.last?.stopped === undefined} />}
          />
          <Reached searching={searching} />
        </Panel>
      )}
      {opened && (
        <Opened
          passing={{ ...opened, at: opened.receivedAt, received: opened.event, outcomes: [] }}
          names={names}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}

function Ask(props: { question: Question; names: Names; again: () => void }) {
  const { question, names, again } = props;
  const [wanted, setWanted] = useState(question);
  const set = (change: Partial<Question>) => setWanted({ ...wanted, ...change });
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
          options={keys}
          onChange={(by) => set({ by: by as Question["by"] })}
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

function columnsOf(names: Names, open: (event: FoundEvent) => void): Column<FoundEvent>[] {
  return [
    { title: "Received", kind: "narrow", cell: ({ receivedAt }) => <Time at={receivedAt} /> },
    {
      title: "Event",
      kind: "name",
      cell: (found) => (
        <button type="button" class="link cut" onClick={() => open(found)}>
          {nameOf(found.event)}
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
function Reached({ searching: { events = [], last, goOn } }: { searching: Searching }) {
  if (last === undefined) return null;
  const { stopped, reachedAt } = last;
  if (stopped === undefined && events.length === 0) return null;
  return (
    <p class="pages">
      <span>
        {plural(events.length, "event")}
        {stopped === undefined && ", that is all"}
        {stopped !== undefined && reachedAt !== undefined && (
          <>
            , back to <Time at={reachedAt} />
          </>
        )}
      </span>
      {stopped !== undefined && (
        <Button tight onClick={goOn}>
          Search further back
        </Button>
      )}
    </p>
  );
}

function Nothing({ isAtEnd }: { isAtEnd: boolean }) {
  if (!isAtEnd) {
    return (
      <Empty icon="clock" title="Nothing found yet">
        There is more to look through.
      </Empty>
    );
  }
  return (
    <Empty icon="search" title="No event that is still there fits">
      Events are kept until every destination has them, and after that for as long as the server is
      set up to keep them: System says for how long.
    </Empty>
  );
}
