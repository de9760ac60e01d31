import type { Live } from "../../catalog/live.ts";
import type { Connection } from "../../catalog/model.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { LAST_KEY } from "../ledger/letter-keys.ts";
import type { RepetitionRow } from "../ledger/repetition-table.ts";
import { eventKey } from "../model/input-event.ts";
import type { LaneRecord } from "../model/lane-record.ts";
import { covers } from "../model/routes.ts";
import type { FoundEvent } from "./search.ts";

/**
 * Outcomes of an event at a destination, as far as the ledgers (stores of delivery progress) show
 * them.
 * - `settled`: delivered, dropped by user code, or a dead letter that was replayed or deleted
 * - `repeated`: the destination gets an earlier event with the same messageId instead
 * - `unknown`: settled or a dead letter; there are too many dead letters to search
 */
export const outcomeNames = [
  "settled",
  "in-flight",
  "dead-letter",
  "repeated",
  "not-connected",
  "unknown",
] as const;

export interface FoundOutcome {
  destinationId: string;
  outcome: (typeof outcomeNames)[number];
  deadLetterId?: string;
  reason?: string;
}

interface OutcomeParts {
  live: Pick<Live, "lanes">;
  /** Ledgers (stores of delivery progress) of all partitions. */
  ledgers(): readonly Ledger[];
}

/**
 * State of the delivery to one destination, read from all ledgers (stores of delivery progress) at
 * one time: its dead letters, and its read positions in the logs.
 */
type Known = ReturnType<typeof findLetters> & { lanes: readonly LaneRecord[] };

/** Maximum number of dead letters that one call of `eventOutcomes` searches. */
const OUTCOME_LETTERS_MAX = 1_000;
/**
 * Maximum number of milliseconds by which the clock of an event's receiving node may be ahead of
 * the clock of the node that stored its dead letter. The search for the letter begins this much
 * before the event.
 */
const CLOCK_AHEAD_MS_MAX = 2_000;
/** Maximum number of destinations in the outcomes of one event. */
export const OUTCOME_DESTINATIONS_MAX = 100;

/**
 * Returns the outcomes of each event at the destinations that its source is connected to, in the
 * order of the events.
 */
export async function eventOutcomes(
  { live, ledgers }: OutcomeParts,
  workspaceId: string,
  events: readonly FoundEvent[],
): Promise<FoundOutcome[][]> {
  if (events.length === 0) return [];
  const sources = new Set(events.map(({ sourceId }) => sourceId));
  const routes = live
    .lanes()
    .filter(({ destination }) => destination.workspaceId === workspaceId)
    .flatMap(({ connections }) => connections.filter(({ sourceId }) => sources.has(sourceId)));
  const known = new Map<string, Known>();
  const since = Math.min(...events.map(({ receivedAt }) => receivedAt)) - CLOCK_AHEAD_MS_MAX;
  let left = OUTCOME_LETTERS_MAX;
  for (const destinationId of new Set(routes.map((route) => route.destinationId))) {
    const found = findLetters(ledgers(), { workspaceId, destinationId, since, count: left });
    const lanes = ledgers().flatMap((ledger) => ledger.lane(destinationId) ?? []);
    known.set(destinationId, { ...found, lanes });
    left -= found.searched;
    // Lets the event loop run other requests.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return events.map((event) => {
    // The row that says which earlier event this one repeats.
    const repetition = Iterator.from(ledgers())
      .map(({ repetitions }) => repetitions.find(event.log, event.sequence))
      .find((row) => row !== undefined);
    return routes
      .filter(({ sourceId }) => sourceId === event.sourceId && event.refused === undefined)
      .slice(0, OUTCOME_DESTINATIONS_MAX)
      .map(
        (route) =>
          repeatedOutcome(event, route, repetition) ??
          outcomeOf(event, route, known.get(route.destinationId)!),
      );
  });
}

function repeatedOutcome(
  { log, sequence }: FoundEvent,
  route: Connection,
  repetition: RepetitionRow | undefined,
): FoundOutcome | undefined {
  if (repetition === undefined || !covers(route, log, sequence)) return undefined;
  const [, previousLog, previousSequence, previousAt] = repetition;
  if (!covers(route, previousLog, previousSequence)) return undefined;
  const time = new Date(previousAt).toISOString();
  const reason = `The source had sent an event with this messageId at ${time}`;
  return { destinationId: route.destinationId, outcome: "repeated", reason };
}

function outcomeOf(
  event: FoundEvent,
  route: Connection,
  { byEvent, isComplete, lanes }: Known,
): FoundOutcome {
  const { log, sequence } = event;
  const { destinationId } = route;
  const letter = byEvent.get(eventKey(event));
  if (letter !== undefined) {
    const { id, reason } = letter;
    return { destinationId, outcome: "dead-letter", deadLetterId: id, reason };
  }
  if (!covers(route, log, sequence)) return { destinationId, outcome: "not-connected" };
  const cursor = lanes.find(({ logs }) => logs[log] !== undefined)?.logs[log];
  const isSettled =
    cursor !== undefined && sequence < cursor.next && !cursor.pending.includes(sequence);
  if (!isSettled) return { destinationId, outcome: "in-flight" };
  return { destinationId, outcome: isComplete ? "settled" : "unknown" };
}

/** Reads the dead letters of a destination that were stored since a time, at most `count`. */
function findLetters(
  ledgers: readonly Ledger[],
  of: { workspaceId: string; destinationId: string; since: number; count: number },
) {
  const { workspaceId, destinationId, since, count } = of;
  /** Dead letters by event; see `eventKey`. */
  const byEvent = new Map<string, { id: string; reason: string }>();
  /** Number of dead letters that were searched. One event may have several. */
  let searched = 0;
  /**
   * Whether all dead letters of the destination that were created since `since` were searched. If
   * false, an event that is not in `byEvent` may still have a dead letter.
   */
  let isComplete = true;
  for (const { letters } of ledgers) {
    if (!letters.hasLetters(destinationId)) continue;
    const filter = { destinationId, from: since };
    const left = count - searched;
    const page = { after: "", before: LAST_KEY, count: left };
    const { ids, reached } = letters.scan(workspaceId, filter, page);
    if (reached !== undefined || left === 0) isComplete = false;
    searched += ids.length;
    for (const id of ids) {
      const letter = letters.get(workspaceId, id);
      if (letter) byEvent.set(eventKey(letter), { id, reason: letter.reason });
    }
  }
  return { byEvent, searched, isComplete };
}
