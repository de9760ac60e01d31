import type { AnswerOf } from "../../api/client.ts";
import { ConfirmButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Badge, EmptyState, Panel, ScreenHeader } from "../components/layout.tsx";
import { type Column, Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { type NameLookup, useNames } from "../data/use-names.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount, formatRate } from "../format.ts";
import { hrefTo } from "../router.ts";

type Replay = AnswerOf<"GET /v2/replays">["replays"][number];

const POLL_MS = 2_000;

const kindNames = { events: "Events", "dead-letters": "Dead letters", purge: "Purge" } as const;
const tones = { running: "accent", done: "good", cancelled: undefined, failed: "bad" } as const;

/** Lists the running and finished replays and purges, with their progress. */
export function ReplayList() {
  const names = useNames();
  const { value, error, reload } = useResource(
    async () => (await client.call("GET /v2/replays")).replays,
    [],
    POLL_MS,
  );
  return (
    <>
      <ScreenHeader title="Replays">
        <a class="button main" href={hrefTo("replays", "new")}>
          Replay events
        </a>
      </ScreenHeader>
      <ErrorNotice error={error} retry={reload} />
      {(value !== undefined || error === undefined) && (
        <Panel flush>
          <Table
            label="Replays"
            columns={columnsOf(names, reload)}
            rows={value}
            keyOf={({ id }) => id}
            empty={
              <EmptyState icon="turn" title="No replays">
                A replay sends stored events to a destination again, through the transformation that
                is live then. Live events go first.
              </EmptyState>
            }
          />
        </Panel>
      )}
    </>
  );
}

function columnsOf(names: NameLookup, reload: () => Promise<void>): Column<Replay>[] {
  return [
    { title: "Started", kind: "narrow", cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      title: "Scope",
      kind: "name",
      cell: (replay) => <ReplayScope replay={replay} names={names} />,
    },
    {
      title: "State",
      kind: "narrow",
      cell: ({ state }) => <Badge {...(tones[state] && { tone: tones[state] })}>{state}</Badge>,
    },
    { title: "Progress", cell: (replay) => <ReplayProgress replay={replay} /> },
    { title: "Processed", kind: "number narrow", cell: ({ counts }) => formatCount(counts.done) },
    { title: "Failed", kind: "number narrow", cell: ({ counts }) => formatCount(counts.failed) },
    { title: "Per second", kind: "number narrow", cell: ({ perSecond }) => formatRate(perSecond) },
    {
      title: "",
      kind: "narrow",
      cell: (replay) =>
        replay.state === "running" && <CancelReplay replay={replay} reload={reload} />,
    },
  ];
}

function ReplayScope({ replay, names }: { replay: Replay; names: NameLookup }) {
  const { kind, destinationId = replay.filter?.destinationId, sourceId, from, to: end } = replay;
  const { error, missingBefore } = replay;
  return (
    <>
      {kindNames[kind]}
      {sourceId !== undefined && ` of ${names.source(sourceId)}`}
      {destinationId !== undefined && (
        <>
          {kind === "events" ? " to " : " of "}
          <a href={hrefTo("destinations", destinationId)}>{names.destination(destinationId)}</a>
        </>
      )}
      {from !== undefined && end !== undefined && (
        <p class="hint">
          Received from <Time at={from} /> to <Time at={end} />
        </p>
      )}
      {missingBefore !== undefined && (
        <p class="hint">
          No longer retained: events before <Time at={missingBefore} />
        </p>
      )}
      {error !== undefined && <p class="wrong">{error}</p>}
    </>
  );
}

function ReplayProgress({ replay: { state, progress, left } }: { replay: Replay }) {
  return (
    <>
      <progress aria-label="Progress" max={1} value={progress} />
      {state === "running" && left !== undefined && (
        <p class="hint">About {formatCount(left)} left</p>
      )}
    </>
  );
}

function CancelReplay(props: { replay: Replay; reload: () => Promise<void> }) {
  const { id, kind } = props.replay;
  return (
    <ConfirmButton
      compact
      needs="events:replay"
      title="Cancel this replay?"
      text={
        kind === "purge"
          ? "Deleted events stay deleted."
          : "No more events are sent. Those already sent stay delivered."
      }
      action="Cancel replay"
      onConfirm={async () => {
        await client.call("POST /v2/replays/{id}/cancel", { params: { id } });
        showToast("Replay cancelled");
        await props.reload();
      }}
      danger={false}
    >
      Cancel
    </ConfirmButton>
  );
}
