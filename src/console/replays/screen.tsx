import type { AnswerOf } from "../../api/client.ts";
import { LinkButton } from "../components/button.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { ItemName, NamedLink } from "../components/item-link.tsx";
import { Badge, ClampedText, ScreenHeader } from "../components/layout.tsx";
import { type Column, column, TablePanel } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { showToast } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { useFirstNames } from "../data/use-names.ts";
import { useResource } from "../data/use-resource.ts";
import { formatCount, formatRate } from "../format.ts";
import { hrefTo, type ScreenProps } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { replayTexts } from "../texts/replays.ts";
import { NewReplay } from "./new-replay.tsx";

type Replay = AnswerOf<"GET /v2/replays">["replays"][number];

const POLL_MS = 2_000;

const tones = {
  running: "accent",
  done: "good",
  partlyFailed: "warn",
  cancelled: undefined,
  failed: "bad",
} as const;
/** Maximum number of failure reasons that the list shows for one replay. */
const REASONS_MAX = 3;

export function Screen({ subpath: [id], query }: ScreenProps) {
  return id === "new" ? <NewReplay query={query} /> : <ReplayList />;
}

/** Lists the replays and purges that run or have ended, with their progress. */
function ReplayList() {
  useFirstNames();
  const { value, error, reload } = useResource(
    async () => (await client.call("GET /v2/replays")).replays,
    [],
    POLL_MS,
  );
  return (
    <>
      <ScreenHeader title={commonTexts.replays}>
        <LinkButton kind="main" needs="events:replay" href={hrefTo("replays", "new")}>
          {commonTexts.replayEvents}
        </LinkButton>
      </ScreenHeader>
      <TablePanel
        label={commonTexts.replays}
        columns={columnsOf(reload)}
        rows={value}
        keyOf={({ id }) => id}
        empty={{ icon: "turn", ...replayTexts.noReplays }}
        error={error}
        retry={reload}
      />
    </>
  );
}

function columnsOf(reload: () => Promise<void>): Column<Replay>[] {
  return [
    column.narrow(replayTexts.started, ({ createdAt }) => <Time at={createdAt} />),
    column.name(replayTexts.scope, (replay) => <ReplayScope replay={replay} />),
    column.narrow(commonTexts.state, (replay) => {
      const state = shownState(replay);
      return <Badge tone={tones[state]}>{replayTexts.states[state]}</Badge>;
    }),
    column.plain(commonTexts.progress, (replay) => <ReplayProgress replay={replay} />),
    ...(["delivered", "dropped", "failed", "pending"] as const).map((count) =>
      // A purge sends no events, so there is nothing to count.
      column.number<Replay>(commonTexts[count], ({ kind, counts }) =>
        kind === "purge" ? commonTexts.noFigure : formatCount(counts[count]),
      ),
    ),
    column.narrow(
      "",
      (replay) => replay.state === "running" && <CancelReplay replay={replay} reload={reload} />,
    ),
  ];
}

/** Returns the replay's state, but `partlyFailed` if the replay is done and some events failed. */
function shownState({ state, counts }: Replay): keyof typeof tones {
  return state === "done" && counts.failed > 0 ? "partlyFailed" : state;
}

/**
 * Returns the id of the destination whose dead letters a filter selects. Undefined if the filter
 * may select dead letters of several destinations.
 */
function destinationOf({ destinationId, groupIds }: NonNullable<Replay["filter"]> = {}) {
  // The id of a group begins with that of its destination.
  const [id, ...others] = new Set(groupIds?.match(/[^,\s]+(?=\.)/g));
  return destinationId ?? (others.length === 0 ? id : undefined);
}

function ReplayScope({ replay }: { replay: Replay }) {
  const { kind, destinationId = destinationOf(replay.filter), sourceId, from, to: end } = replay;
  const { error, missingBefore, reason, startedBy, isSelection } = replay;
  return (
    <>
      {replayTexts.scopeOf(
        isSelection ? replayTexts.selectedKinds[kind] : replayTexts.kinds[kind],
        kind === "events",
        sourceId && <ItemName kind="source" id={sourceId} />,
        destinationId === undefined ? (
          replayTexts.severalDestinations
        ) : (
          <NamedLink kind="destination" id={destinationId} />
        ),
      )}
      {reason !== undefined && (
        <p class="quiet small">
          <ClampedText text={replayTexts.givenUpFor(reason)} />
        </p>
      )}
      {startedBy !== undefined && (
        <p class="quiet small">{replayTexts.startedBy(startedBy.name)}</p>
      )}
      {from !== undefined && end !== undefined && (
        <p class="quiet small">
          {replayTexts.receivedBetween(<Time at={from} exact />, <Time at={end} exact />)}
        </p>
      )}
      {missingBefore !== undefined && (
        <p class="quiet small">{replayTexts.notRetained(<Time at={missingBefore} exact />)}</p>
      )}
      {error !== undefined && (
        <p class="wrong">
          <ClampedText text={error} />
        </p>
      )}
      <FailureReasons replay={replay} />
    </>
  );
}

/**
 * Lists the most frequent failure reasons of a replay, at most `REASONS_MAX`, with links to their
 * dead letters. The entry for reasons that the server counts together has no link.
 */
function FailureReasons({ replay: { failures = [] } }: { replay: Replay }) {
  if (failures.length === 0) return null;
  const more = failures.length - REASONS_MAX;
  return (
    <ul aria-label={replayTexts.failureReasons}>
      {failures.slice(0, REASONS_MAX).map(({ groupId, reason, count }) => (
        <li key={groupId ?? reason} class="bad">
          {replayTexts.timesFailed(count)}
          {groupId === undefined ? (
            <ClampedText text={reason} />
          ) : (
            <a class="bad clamp" href={hrefTo("dead-letters", { groupId })}>
              {reason}
            </a>
          )}
        </li>
      ))}
      {more > 0 && <li class="quiet small">{replayTexts.moreReasons(more)}</li>}
    </ul>
  );
}

function ReplayProgress({ replay }: { replay: Replay }) {
  const { kind, state, progress, left, counts, perSecond, waitsFor } = replay;
  return (
    <>
      <progress aria-label={commonTexts.progress} max={1} value={progress} />
      <p class="quiet small">
        {state === "running"
          ? replayTexts.speed(left, formatRate(perSecond))
          : replayTexts.processed[kind](counts.done)}
      </p>
      {waitsFor !== undefined && (
        <p class="bad small">
          <ClampedText text={replayTexts.waitsFor(waitsFor)} />
        </p>
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
      title={replayTexts.cancelQuestion}
      text={
        kind === "purge" ? replayTexts.cancelPurgeConsequence : replayTexts.cancelReplayConsequence
      }
      action={replayTexts.cancelReplay}
      onConfirm={async () => {
        await client.call("POST /v2/replays/{id}/cancel", { params: { id } });
        showToast(replayTexts.replayCancelled);
        await props.reload();
      }}
      danger={false}
    >
      {commonTexts.cancel}
    </ConfirmButton>
  );
}
