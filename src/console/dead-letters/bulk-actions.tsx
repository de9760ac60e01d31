import { Button } from "../components/button.tsx";
import { ClampedText } from "../components/clamped-text.tsx";
import { confirmAction } from "../components/dialog.tsx";
import { FactList } from "../components/layout.tsx";
import { showToast } from "../components/toasts.ts";
import { changedState } from "../data/save.ts";
import { client } from "../data/session.ts";
import type { NameLookup } from "../data/use-names.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { deadLetterTexts } from "../texts/dead-letters.ts";

/**
 * The dead letters (events that were given up) that a replay or purge applies to, as the screen
 * shows them. A request with a filter always carries the number and the time of the list, so that
 * it cannot reach dead letters that the confirmation did not count.
 */
export interface BulkTarget {
  selection:
    | { ids: readonly string[] }
    | {
        filter: { destinationId?: string; groupId?: string; groupIds?: string[] };
        /** Time of the list (`asOf`). Dead letters that were added later are not affected. */
        before: string;
      };
  count: number;
  /** Destinations and reasons that the confirmation names. */
  failures: readonly { destinationId: string; reason: string }[];
}

type BulkAction = "replay" | "purge";

/**
 * Maximum number of dead letters (events that were given up) that a request with a filter replays
 * or purges before it is answered. For more, the server runs a job.
 */
const REQUEST_LETTERS_MAX = 500;
/** Maximum number of ids in a request. */
const REQUEST_IDS_MAX = 1_000;
/** Maximum number of destinations, and of reasons, that a confirmation names. */
const NAMED_MAX = 5;

/** Buttons that replay or purge dead letters (events that were given up) after a confirmation. */
export function BulkActions(props: {
  target: BulkTarget;
  /** Phrase that names the dead letters in the button labels, as in `Replay ${description}`. */
  description: string;
  names: NameLookup;
  reload: () => Promise<void>;
  /** Loads the list again and returns what the same action applies to now. */
  loadTarget: () => Promise<BulkTarget | undefined>;
}) {
  const { target, description, names, reload, loadTarget } = props;

  function confirm(action: BulkAction, confirmed: BulkTarget, notice?: string) {
    const { count } = confirmed;
    confirmAction({
      title: deadLetterTexts.bulkQuestion[action](count),
      text: [notice, deadLetterTexts.bulkConsequence[action](count)].filter(Boolean).join(" "),
      details: <AffectedLetters target={confirmed} names={names} />,
      action: deadLetterTexts.bulkActions[action],
      danger: action === "purge",
      onConfirm: () => run(action, confirmed),
    });
  }

  async function run(action: BulkAction, confirmed: BulkTarget) {
    try {
      const isJob = await send(action, confirmed);
      if (isJob) navigate(hrefTo("replays"));
      else await reload();
    } catch (error) {
      if (changedState(error) === undefined) throw error;
      const current = await loadTarget();
      await reload();
      if (current === undefined) throw error;
      confirm(action, current, deadLetterTexts.countChanged(confirmed.count, current.count));
    }
  }

  return (
    <div class="row">
      <Button icon="turn" needs="events:replay" onClick={() => confirm("replay", target)}>
        {deadLetterTexts.replayOf(description)}
      </Button>
      <Button icon="bin" needs="events:replay" onClick={() => confirm("purge", target)}>
        {deadLetterTexts.purgeOf(description)}
      </Button>
    </div>
  );
}

/** Destinations and failure reasons of the dead letters that a confirmation is about. */
function AffectedLetters({ target, names }: { target: BulkTarget; names: NameLookup }) {
  const destinations = target.failures.map((it) => names.destination(it.destinationId));
  const reasons = target.failures.map(({ reason }) => reason || deadLetterTexts.noReasonGiven);
  return (
    <FactList
      facts={[
        [commonTexts.destination, <FirstOf texts={destinations} />],
        [commonTexts.reason, <FirstOf texts={reasons} />],
      ]}
    />
  );
}

/** Shows the first different texts, and how many more there are. */
function FirstOf({ texts }: { texts: readonly string[] }) {
  const different = [...new Set(texts)];
  const more = different.length - NAMED_MAX;
  return (
    <div>
      {different.slice(0, NAMED_MAX).map((text) => (
        <div key={text}>
          <ClampedText text={text} />
        </div>
      ))}
      {more > 0 && <div class="quiet">{deadLetterTexts.more(more)}</div>}
    </div>
  );
}

/** Sends the requests of an action. Returns whether a job on the server does the rest. */
async function send(action: BulkAction, { selection, count }: BulkTarget): Promise<boolean> {
  if ("ids" in selection) {
    let done = 0;
    for (let at = 0; at < selection.ids.length; at += REQUEST_IDS_MAX) {
      done += await post(action, { ids: selection.ids.slice(at, at + REQUEST_IDS_MAX) });
    }
    showToast(deadLetterTexts.finished[action](done));
    return false;
  }
  const isJob = count > REQUEST_LETTERS_MAX;
  const done = await post(action, { ...selection, expected: count, ...(isJob && { all: true }) });
  showToast(isJob ? deadLetterTexts.started[action] : deadLetterTexts.finished[action](done));
  return isJob;
}

type RequestBody =
  | { ids: string[] }
  | { filter: object; before: string; expected: number; all?: true };

/** Returns the number of dead letters (events that were given up) that were replayed or purged. */
async function post(action: BulkAction, body: RequestBody): Promise<number> {
  if (action === "replay") {
    return (await client.call("POST /v2/dead-letters/replay", { body })).replayed;
  }
  return (await client.call("POST /v2/dead-letters/purge", { body })).purged;
}
