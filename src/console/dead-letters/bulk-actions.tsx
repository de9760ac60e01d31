import type { InputOf } from "../../api/client.ts";
import { DEAD_LETTERS_PAGE_MAX } from "../../settings/limits.ts";
import { Button } from "../components/button.tsx";
import { confirmAction } from "../components/dialog.tsx";
import { ClampedText, FactList } from "../components/layout.tsx";
import { showToast } from "../components/toasts.ts";
import { changedState } from "../data/save.ts";
import { client } from "../data/session.ts";
import { useNames } from "../data/use-names.ts";
import { hrefTo, navigate } from "../router.ts";
import { commonTexts } from "../texts/common.ts";
import { deadLetterTexts } from "../texts/dead-letters.ts";

/**
 * Dead letters (events that were given up) to replay or purge together: those with the ids `ids`,
 * or all that match `filter`. `count` is the number that the user has confirmed. The server refuses
 * the request if more match `filter`.
 */
export interface BulkTarget {
  selection:
    | { ids: readonly string[] }
    | {
        filter: { destinationId?: string; groupId?: string; groupIds?: string[] };
        /**
         * Time at which the server read the list that the user has confirmed: the `asOf` of its
         * answer. The action leaves out dead letters that were added after this time.
         */
        before: string;
      };
  count: number;
  /** Destinations and failure reasons of the letters in `selection`, for the confirmation. */
  failures: readonly { destinationId: string; reason: string }[];
}

export type BulkAction = "replay" | "purge";

/**
 * Maximum number of dead letters (events that were given up) that the server replays or purges
 * within one request with a filter. For a larger number, the request starts a job on the server.
 */
const REQUEST_LETTERS_MAX = 500;
/** Maximum number of destinations, and also of failure reasons, that a confirmation names. */
const NAMED_MAX = 5;

/** Buttons that replay or purge dead letters (events that were given up) after a confirmation. */
export function BulkActions(props: {
  target: BulkTarget;
  /**
   * Description of the dead letters for the buttons' labels. With `12 selected`, these are `Replay
   * 12 selected` and `Purge 12 selected`.
   */
  description: string;
  reload: () => Promise<void>;
  /**
   * Loads the list again after the server has refused an action because the dead letters have
   * changed. Resolves with the dead letters to confirm instead, or with undefined to show the
   * server's error.
   */
  loadTarget: () => Promise<BulkTarget | undefined>;
}) {
  const { target, description, reload, loadTarget } = props;

  function confirm(action: BulkAction, confirmed: BulkTarget, notice?: string) {
    const { count } = confirmed;
    confirmAction({
      title: deadLetterTexts.bulkQuestion[action](count),
      text: [notice, deadLetterTexts.bulkConsequence[action](count)].filter(Boolean).join(" "),
      details: <AffectedLetters target={confirmed} />,
      action: deadLetterTexts[action],
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

/** Lists the destinations and failure reasons of the dead letters that an action affects. */
function AffectedLetters({ target }: { target: BulkTarget }) {
  const names = useNames();
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

/** Shows up to `NAMED_MAX` of the texts, without repetitions, and says how many are left out. */
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

/**
 * Replays or purges dead letters. Resolves with true if the server has begun a job for this, and
 * with false if the action is complete.
 */
async function send(action: BulkAction, { selection, count }: BulkTarget): Promise<boolean> {
  if ("ids" in selection) {
    let done = 0;
    for (let at = 0; at < selection.ids.length; at += DEAD_LETTERS_PAGE_MAX) {
      done += await postAction(action, {
        ids: selection.ids.slice(at, at + DEAD_LETTERS_PAGE_MAX),
      });
    }
    showToast(deadLetterTexts.finished[action](done));
    return false;
  }
  const isJob = count > REQUEST_LETTERS_MAX;
  const done = await postAction(action, {
    ...selection,
    expected: count,
    ...(isJob && { all: true }),
  });
  showToast(isJob ? deadLetterTexts.started[action] : deadLetterTexts.finished[action](done));
  return isJob;
}

type RequestBody = InputOf<"POST /v2/dead-letters/replay">[0]["body"];

/**
 * Sends one request to replay or purge dead letters (events that were given up). Resolves with the
 * number of dead letters that were replayed or purged.
 */
export async function postAction(action: BulkAction, body: RequestBody): Promise<number> {
  const answer = await client.call(`POST /v2/dead-letters/${action}`, { body });
  return "replayed" in answer ? answer.replayed : answer.purged;
}
