import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "../parts/button.tsx";
import { AskingButton } from "../parts/dialog.tsx";
import { Fault } from "../parts/fault.tsx";
import { tell, tellError } from "../parts/messages.ts";
import { go, to } from "../router.ts";
import { client } from "../session.ts";
import { count, plural } from "../text.ts";

/** What is replayed or purged: some by their ids, or all that a filter finds. */
export interface BulkProps {
  ids?: readonly string[];
  filter?: { destinationId?: string; groupId?: string };
  total: number;
  /** How the question calls them. */
  what: string;
  changed: () => Promise<void>;
}

type Deed = "replay" | "purge";

interface Progress {
  deed: Deed;
  done: number;
  error?: unknown;
}

/** More than these are left to a job of the server. */
const BY_JOB_MIN = 5_000;
/** So many a request: each is one or two transactions, and the bar moves. */
const LOT = 500;

/** Buttons that replay or purge, and how far it is. Those that come meanwhile are left alone. */
export function Bulk(props: BulkProps) {
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

  async function run(deed: Deed) {
    if (props.filter !== undefined && total > BY_JOB_MIN) return await runAsJob(deed, props.filter);
    stopped.current = false;
    wanted.current = total;
    let done = 0;
    setProgress({ deed, done });
    try {
      for await (const lot of lots(deed, props)) {
        done += lot;
        setProgress({ deed, done });
        if (stopped.current) break;
      }
      setProgress(undefined);
      tell(
        deed === "replay"
          ? `${plural(done, "dead letter")} on the way again`
          : `${plural(done, "dead letter")} deleted`,
      );
    } catch (error) {
      setProgress({ deed, done, error });
    }
    await changed();
  }

  const start = (deed: Deed) => void run(deed).catch(tellError);

  if (progress !== undefined) {
    return (
      <div class="notice">
        <div class="row far">
          <span aria-live="polite">
            {progress.deed === "replay" ? "Replaying" : "Purging"}: {count(progress.done)} of{" "}
            {count(wanted.current)}
          </span>
          <Button
            tight
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
        <Fault error={progress.error} retry={() => run(progress.deed)} />
      </div>
    );
  }
  return (
    <div class="row">
      <Button icon="turn" needs="events:replay" onClick={() => start("replay")}>
        Replay {what}
      </Button>
      <AskingButton
        icon="bin"
        needs="events:replay"
        title={`Purge ${what}?`}
        text={`${plural(total, "event")} would be gone for good.`}
        action="Purge"
        onConfirm={async () => start("purge")}
      >
        Purge {what}
      </AskingButton>
    </div>
  );
}

/** The server does it, also when this page is closed. */
async function runAsJob(deed: Deed, filter: NonNullable<BulkProps["filter"]>): Promise<void> {
  const body = { filter, all: true };
  if (deed === "replay") await client.call("POST /v2/dead-letters/replay", { body });
  else await client.call("POST /v2/dead-letters/purge", { body });
  tell(deed === "replay" ? "A replay of them runs" : "They are being deleted");
  go(to("replays"));
}

/** Does it lot after lot, and tells how many each was. */
async function* lots(deed: Deed, { ids, filter = {} }: BulkProps): AsyncGenerator<number> {
  if (ids !== undefined) {
    for (let at = 0; at < ids.length; at += LOT) {
      yield (await done(deed, { ids: ids.slice(at, at + LOT) })).count;
    }
    return;
  }
  // What fails again comes back as a new letter, which is not meant: the first answer tells the time.
  let before: string | undefined;
  for (let more = true; more; ) {
    const answer = await done(deed, { filter, count: LOT, ...(before && { before }) });
    yield answer.count;
    before = answer.before;
    more = answer.more && answer.count > 0;
  }
}

type Selection = { ids: string[] } | { filter: object; before?: string; count: number };

async function done(
  deed: Deed,
  body: Selection,
): Promise<{ count: number; more: boolean; before?: string }> {
  if (deed === "replay") {
    const answer = await client.call("POST /v2/dead-letters/replay", { body });
    return { ...answer, count: answer.replayed, more: answer.more === true };
  }
  const answer = await client.call("POST /v2/dead-letters/purge", { body });
  return { ...answer, count: answer.purged, more: answer.more === true };
}
