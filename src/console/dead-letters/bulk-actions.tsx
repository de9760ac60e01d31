import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { showError, showToast } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { formatCount, pluralize } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";

/**
 * The dead letters (events that were given up) that a replay or purge applies to: those with the
 * ids in `ids`, or else all that match `filter`.
 */
interface BulkTarget {
  ids?: readonly string[];
  filter?: { destinationId?: string; groupId?: string };
  total: number;
  /** Phrase that names the dead letters in the button labels, as in `Replay ${description}`. */
  description: string;
  reload: () => Promise<void>;
}

type BulkAction = "replay" | "purge";

interface BulkProgress {
  action: BulkAction;
  done: number;
  error?: unknown;
}

/**
 * Maximum number of dead letters (events that were given up) that the browser replays or purges
 * itself, in several requests. For a filter that matches more, the server runs a job.
 */
const BROWSER_LETTERS_MAX = 5_000;
/**
 * Number of dead letters (events that were given up) that one request replays or purges. The
 * progress bar moves after each request.
 */
const REQUEST_LETTERS = 500;

/**
 * Buttons that replay or purge dead letters (events that were given up), with their progress. Dead
 * letters that are added after the click are not affected.
 */
export function BulkActions(props: BulkTarget) {
  const { total, description, reload } = props;
  const [progress, setProgress] = useState<BulkProgress>();
  const isStopped = useRef(false);
  const startTotal = useRef(total);
  useEffect(
    () => () => {
      isStopped.current = true;
    },
    [],
  );

  async function run(action: BulkAction) {
    if (props.filter !== undefined && total > BROWSER_LETTERS_MAX) {
      return await startJob(action, props.filter);
    }
    isStopped.current = false;
    startTotal.current = total;
    let done = 0;
    setProgress({ action, done });
    try {
      for await (const count of requestBatches(action, props)) {
        done += count;
        setProgress({ action, done });
        if (isStopped.current) break;
      }
      setProgress(undefined);
      const letters = pluralize(done, "dead letter");
      showToast(`${letters} ${action === "replay" ? "requeued" : "deleted"}`);
    } catch (error) {
      setProgress({ action, done, error });
    }
    await reload();
  }

  const start = (action: BulkAction) => void run(action).catch(showError);

  if (progress !== undefined) {
    return (
      <div class="notice">
        <div class="row far">
          <span aria-live="polite">
            {progress.action === "replay" ? "Replaying" : "Purging"}: {formatCount(progress.done)}{" "}
            of {formatCount(startTotal.current)}
          </span>
          <Button
            compact
            onClick={() => {
              if (progress.error !== undefined) setProgress(undefined);
              isStopped.current = true;
            }}
          >
            {progress.error === undefined ? "Stop" : "Close"}
          </Button>
        </div>
        <progress
          aria-label="Progress"
          max={Math.max(1, startTotal.current)}
          value={Math.min(progress.done, startTotal.current)}
        />
        <ErrorNotice error={progress.error} retry={() => run(progress.action)} />
      </div>
    );
  }
  return (
    <div class="row">
      <Button icon="turn" needs="events:replay" onClick={() => start("replay")}>
        Replay {description}
      </Button>
      <ConfirmButton
        icon="bin"
        needs="events:replay"
        title={`Purge ${description}?`}
        text={`${pluralize(total, "event")} will be deleted. This can't be undone.`}
        action="Purge"
        onConfirm={async () => start("purge")}
      >
        Purge {description}
      </ConfirmButton>
    </div>
  );
}

/**
 * Starts a job on the server that replays or purges dead letters. The job continues when this page
 * is closed.
 */
async function startJob(
  action: BulkAction,
  filter: NonNullable<BulkTarget["filter"]>,
): Promise<void> {
  const body = { filter, all: true };
  if (action === "replay") await client.call("POST /v2/dead-letters/replay", { body });
  else await client.call("POST /v2/dead-letters/purge", { body });
  showToast(action === "replay" ? "Replay started" : "Purge started");
  navigate(hrefTo("replays"));
}

/**
 * Sends requests for all dead letters one after another. Yields the number of dead letters of each
 * request.
 */
async function* requestBatches(
  action: BulkAction,
  { ids, filter = {} }: BulkTarget,
): AsyncGenerator<number> {
  if (ids !== undefined) {
    for (let at = 0; at < ids.length; at += REQUEST_LETTERS) {
      yield (await send(action, { ids: ids.slice(at, at + REQUEST_LETTERS) })).count;
    }
    return;
  }
  // An event that fails again becomes a new dead letter. The time `before` in the first answer
  // excludes those from the next requests.
  let before: string | undefined;
  for (let more = true; more; ) {
    const answer = await send(action, {
      filter,
      count: REQUEST_LETTERS,
      ...(before && { before }),
    });
    yield answer.count;
    before = answer.before;
    more = answer.more && answer.count > 0;
  }
}

type Selection = { ids: string[] } | { filter: object; before?: string; count: number };

async function send(
  action: BulkAction,
  body: Selection,
): Promise<{ count: number; more: boolean; before?: string }> {
  if (action === "replay") {
    const answer = await client.call("POST /v2/dead-letters/replay", { body });
    return { ...answer, count: answer.replayed, more: answer.more === true };
  }
  const answer = await client.call("POST /v2/dead-letters/purge", { body });
  return { ...answer, count: answer.purged, more: answer.more === true };
}
