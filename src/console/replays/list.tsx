import type { AnswerOf } from "../../api/client.ts";
import { type Names, useNames } from "../every.ts";
import { useLoaded } from "../loaded.ts";
import { AskingButton } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { Badge, Empty, Head, Panel } from "../parts/layout.tsx";
import { tell } from "../parts/messages.ts";
import { type Column, Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { to } from "../router.ts";
import { client } from "../session.ts";
import { count, rate } from "../text.ts";

type Replay = AnswerOf<"GET /v2/replays">["replays"][number];

const ASKED_EVERY_MS = 2_000;

const kinds = { events: "Events", "dead-letters": "Dead letters", purge: "Purge" } as const;
const tones = { running: "accent", done: "good", cancelled: undefined, failed: "bad" } as const;

/** What is sent again, or was: how far each is, and a way to end it. */
export function ReplayList() {
  const names = useNames();
  const { value, error, reload } = useLoaded(
    async () => (await client.call("GET /v2/replays")).replays,
    [],
    ASKED_EVERY_MS,
  );
  return (
    <>
      <Head title="Replays">
        <a class="button main" href={to("replays", "new")}>
          Replay events
        </a>
      </Head>
      <Fault error={error} retry={reload} />
      {(value !== undefined || error === undefined) && (
        <Panel flush>
          <Table
            label="Replays"
            columns={columnsOf(names, reload)}
            rows={value}
            keyOf={({ id }) => id}
            empty={
              <Empty icon="turn" title="Nothing was sent again yet">
                Events that the server still holds go to a destination once more, through the code
                that is live then. Live events go first.
              </Empty>
            }
          />
        </Panel>
      )}
    </>
  );
}

function columnsOf(names: Names, changed: () => Promise<void>): Column<Replay>[] {
  return [
    { title: "Begun", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
    { title: "What", kind: "name", cell: (replay) => <What replay={replay} names={names} /> },
    {
      title: "State",
      kind: "narrow",
      cell: ({ state }) => <Badge {...(tones[state] && { tone: tones[state] })}>{state}</Badge>,
    },
    { title: "Progress", cell: (replay) => <Progress replay={replay} /> },
    { title: "Done", kind: "number narrow", cell: ({ counts }) => count(counts.done) },
    { title: "Failed", kind: "number narrow", cell: ({ counts }) => count(counts.failed) },
    { title: "Per second", kind: "number narrow", cell: ({ perSecond }) => rate(perSecond) },
    {
      title: "",
      kind: "narrow",
      cell: (replay) => replay.state === "running" && <Cancel replay={replay} changed={changed} />,
    },
  ];
}

function What({ replay, names }: { replay: Replay; names: Names }) {
  const { kind, destinationId = replay.filter?.destinationId, sourceId, from, to: end } = replay;
  const { error, missingBefore } = replay;
  return (
    <>
      {kinds[kind]}
      {sourceId !== undefined && ` of ${names.source(sourceId)}`}
      {destinationId !== undefined && (
        <>
          {kind === "events" ? " to " : " of "}
          <a href={to("destinations", destinationId)}>{names.destination(destinationId)}</a>
        </>
      )}
      {from !== undefined && end !== undefined && (
        <p class="hint">
          Received from <Time at={from} /> to <Time at={end} />
        </p>
      )}
      {missingBefore !== undefined && (
        <p class="hint">
          Not kept any more: what came before <Time at={missingBefore} />
        </p>
      )}
      {error !== undefined && <p class="wrong">{error}</p>}
    </>
  );
}

function Progress({ replay: { state, progress, left } }: { replay: Replay }) {
  return (
    <>
      <progress aria-label="Progress" max={1} value={progress} />
      {state === "running" && left !== undefined && <p class="hint">About {count(left)} left</p>}
    </>
  );
}

function Cancel({ replay: { id, kind }, changed }: { replay: Replay; changed(): Promise<void> }) {
  return (
    <AskingButton
      tight
      needs="events:replay"
      title="Cancel this replay?"
      text={
        kind === "purge"
          ? "What was deleted stays deleted."
          : "What was sent has been sent; nothing more follows."
      }
      action="Cancel replay"
      onConfirm={async () => {
        await client.call("POST /v2/replays/{id}/cancel", { params: { id } });
        tell("The replay is cancelled");
        await changed();
      }}
      danger={false}
    >
      Cancel
    </AskingButton>
  );
}
