import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { ConfirmButton } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { showError, showToast } from "../components/toasts.ts";
import { client } from "../data/session.ts";
import { formatCount, pluralize } from "../format.ts";
import { hrefTo, navigate } from "../router.ts";

/** What is replayed or purged: some by their ids, or all that a filter finds. */
export interface BulkTarget {
  ids?: readonly string[];
  filter?: { destinationId?: string; groupId?: string };
  total: number;
  /** How the question calls them. */
  what: string;
  changed: () => Promise<void>;
}

type BulkAction = "replay" | "purge";

interface Progress {
  deed: BulkAction;
  done: number;
  error?: unknown;
}

/** More than these are left to a job of the server. */
const BY_JOB_MIN = 5_000;
/** So many a request: each is one or two transactions, and the bar moves. */
const REQUEST_LETTERS = 500;

/** Buttons that replay or purge, and how far it is. Those that come meanwhile are left alone. */
export function BulkActions(props: BulkTarget) {
  const { total, what, changed } = props;
  const [progress, setProgress] = useState<Progress>();
  const stopped = useRef(false);
  const wanted = useRef(total);
  useEffect(
    () => () => {
      stopped.current = true;
    },
    [],
  );

  async function run(deed: BulkAction) {
    if (props.filter !== undefined && total > BY_JOB_MIN) return await runAsJob(deed, props.filter);
    stopped.current = false;
    wanted.current = total;
    let done = 0;
    setProgress({ deed, done });
    try {
      for await (const lot of inRequests(deed, props)) {
        done += lot;
        setProgress({ deed, done });
        if (stopped.current) break;
      }
      setProgress(undefined);
      showToast(
        deed === "replay"
          ? `${pluralize(done, "dead letter")} on the way again`
          : `${pluralize(done, "dead letter")} deleted`,
      );
    } catch (error) {
      setProgress({ deed, done, error });
    }
    await changed();
  }

  const start = (deed: BulkAction) => void run(deed).catch(showError);

  if (progress !== undefined) {
    return (
      <div class="notice">
        <div class="row far">
          <span aria-live="polite">
            {progress.deed === "replay" ? "Replaying" : "Purging"}: {formatCount(progress.done)} of{" "}
            {formatCount(wanted.current)}
          </span>
          <Button
            compact
            onClick={() => {
              if (progress.error !== undefined) setProgress(undefined);
              stopped.current = true;
            }}
          >
            {progress.error === undefined ? "Stop" : "Close"}
          </Button>
        </div>
        <progress
          aria-label="Progress"
          max={Math.max(1, wanted.current)}
          value={Math.min(progress.done, wanted.current)}
        />
        <ErrorNotice error={progress.error} retry={() => run(progress.deed)} />
      </div>
    );
  }
  return (
    <div class="row">
      <Button icon="turn" needs="events:replay" onClick={() => start("replay")}>
        Replay {what}
      </Button>
      <ConfirmButton
        icon="bin"
        needs="events:replay"
        title={`Purge ${what}?`}
        text={`${pluralize(total, "event")} would be gone for good.`}
        action="Purge"
        onConfirm={async () => start("purge")}
      >
        Purge {what}
      </ConfirmButton>
    </div>
  );
}

/** The server does it, also when this page is closed. */
async function runAsJob(
  deed: BulkAction,
  filter: NonNullable<BulkTarget["filter"]>,
): Promise<void> {
  const body = { filter, all: true };
  if (deed === "replay") await client.call("POST /v2/dead-letters/replay", { body });
  else await client.call("POST /v2/dead-letters/purge", { body });
  showToast(deed === "replay" ? "A replay of them runs" : "They are being deleted");
  navigate(hrefTo("replays"));
}

/** Does it lot after lot, and tells how many each was. */
async function* inRequests(
  deed: BulkAction,
  { ids, filter = {} }: BulkTarget,
): AsyncGenerator<number> {
  if (ids !== undefined) {
    for (let at = 0; at < ids.length; at += REQUEST_LETTERS) {
      yield (await sendRequest(deed, { ids: ids.slice(at, at + REQUEST_LETTERS) })).count;
    }
    return;
  }
  // What fails again comes back as a new letter, which is not meant: the first answer tells the time.
  let before: string | undefined;
  for (let more = true; more; ) {
    const answer = await sendRequest(deed, {
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

async function sendRequest(
  deed: BulkAction,
  body: Selection,
): Promise<{ count: number; more: boolean; before?: string }> {
  if (deed === "replay") {
    const answer = await client.call("POST /v2/dead-letters/replay", { body });
    return { ...answer, count: answer.replayed, more: answer.more === true };
  }
  const answer = await client.call("POST /v2/dead-letters/purge", { body });
  return { ...answer, count: answer.purged, more: answer.more === true };
}
