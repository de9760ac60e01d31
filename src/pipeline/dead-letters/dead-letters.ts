import type { Ledger } from "../ledger/ledger.ts";
import { LAST_KEY } from "../ledger/letter-keys.ts";
import {
  DEAD_LETTERS_PAGE_CHARS_MAX,
  letterChars,
  type RequeuedLetter,
  type StoredLetter,
  takeChars,
} from "../ledger/letter-tables.ts";
import type { DeadLetter, DeadLetters } from "../model/dead-letter.ts";
import {
  EVENT_OVERHEAD_BYTES,
  type EventOutcome,
  type LaneEvent,
  type Output,
} from "../model/lane-event.ts";
import { parseJsonOrText } from "../reading/input.ts";

/** A dead letter for an output. Its id is a UUID of version 7, so that ids sort by time. */
export function createDeadLetter(
  output: Output,
  ending: EventOutcome & { kind: "dead-letter" },
  destination: { id: string; workspaceId: string },
  now: number,
): StoredLetter {
  const { item, live, bytes } = output;
  const { input } = item;
  const { event } = input;
  const text = Buffer.from(bytes).toString();
  const original = live === undefined ? text : Buffer.from(event.json).toString();
  return {
    id: Bun.randomUUIDv7("hex", now),
    workspaceId: destination.workspaceId,
    sourceId: input.sourceId,
    destinationId: destination.id,
    messageId: input.messageId,
    stage: ending.stage,
    reason: ending.reason,
    attempts: output.attempts,
    text,
    user: event.user,
    type: input.type,
    receivedAt: input.receivedAt,
    createdAt: now,
    ...(live !== undefined && {
      transformationVersionId: live.transformation.versionId,
      programId: live.id,
    }),
    ...(original !== text && { original }),
    ...(event.name !== undefined && { name: event.name }),
    ...(ending.line !== undefined && { line: ending.line }),
    ...(ending.column !== undefined && { column: ending.column }),
  };
}

/** The event of a dead letter as it first came, to go through the live code once more. */
export function createRequeuedEvent({ letter, replayedAt }: RequeuedLetter): LaneEvent {
  const { messageId, sourceId, receivedAt, type, user, name } = letter;
  const text = letter.original ?? letter.text;
  const json = Buffer.from(text);
  return {
    input: { messageId, sourceId, receivedAt, type, event: { json, user, name, ...idsOf(text) } },
    origin: { replayOf: letter },
    bornAt: replayedAt,
    bytes: json.length + EVENT_OVERHEAD_BYTES,
    open: 0,
    letters: [],
  };
}

function idsOf(text: string): { userId: string; anonymousId: string } {
  const value = parseJsonOrText(text);
  const id = (name: string) => {
    const found = typeof value === "object" && value !== null ? Reflect.get(value, name) : "";
    return typeof found === "string" ? found : "";
  };
  return { userId: id("userId"), anonymousId: id("anonymousId") };
}

/** Groups that are read to find the largest. */
const GROUPS_READ_MAX = 10_000;

/** The dead letters as `api/` sees them: sealed by workspace, events as values. */
export function createDeadLetters(
  ledger: Ledger,
  /** Tells the lanes of these destinations that there are replays. */
  wake: (destinationIds: readonly string[]) => void,
  now: () => number,
): DeadLetters {
  const find: DeadLetters["find"] = (workspaceId, { after = "", count, ...filter }) => {
    const looked = ledger.letters.look(workspaceId, filter, { after, before: LAST_KEY, count });
    const found = looked.ids.map((id) => ledger.letters.get(workspaceId, id));
    const letters = found.filter((letter) => letter !== undefined);
    const page = takeChars(DEAD_LETTERS_PAGE_CHARS_MAX, letterChars, letters);
    const reached = page.length < letters.length ? page.at(-1)?.id : looked.reached;
    return { letters: page.map(shown), reached };
  };
  return {
    list: (workspaceId, options) => find(workspaceId, options).letters,
    find,
    get(workspaceId, id) {
      const letter = ledger.letters.get(workspaceId, id);
      return letter && shown(letter);
    },
    count: (workspaceId, filter) => ledger.letters.countOf(workspaceId, filter),
    groups(workspaceId, destinationId) {
      const { letters } = ledger;
      const owners = Iterator.from(letters.counts()).filter(
        (it) =>
          it.workspaceId === workspaceId &&
          it.count > 0 &&
          (destinationId === undefined || it.destinationId === destinationId),
      );
      return owners
        .flatMap((owner) => letters.groups.of(owner))
        .take(GROUPS_READ_MAX)
        .toArray()
        .sort((one, other) => other.count - one.count || other.lastAt - one.lastAt);
    },
    ids: (workspaceId, filter, part) => ledger.letters.look(workspaceId, filter, part),
    async replay(workspaceId, ids) {
      let replayed = 0;
      await inLots(ids, async (rest) => {
        const { destinationIds, done } = await ledger.replay(workspaceId, rest, now());
        wake(destinationIds);
        replayed += destinationIds.length;
        return done;
      });
      return { replayed };
    },
    async purge(workspaceId, ids) {
      let sum = 0;
      await inLots(ids, async (rest) => {
        const { purged, done } = await ledger.purge(workspaceId, rest);
        sum += purged;
        return done;
      });
      return { purged: sum };
    },
  };
}

/** Hands out ids in parts until all were looked at; `step` returns how many it has looked at. */
async function inLots(
  ids: readonly string[],
  step: (rest: readonly string[]) => Promise<number>,
): Promise<void> {
  let rest = [...new Set(ids)];
  while (rest.length > 0) rest = rest.slice(await step(rest));
}

function shown(letter: StoredLetter): DeadLetter {
  const { text, original, programId, user, type, name, ...rest } = letter;
  return { ...rest, event: parseJsonOrText(text) };
}
