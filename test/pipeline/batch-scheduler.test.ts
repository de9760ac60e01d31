import { expect, test } from "bun:test";
import type { LiveProgram } from "../../src/catalog/live.ts";
import type { Revision } from "../../src/catalog/model.ts";
import { Notifier, systemClock } from "../../src/pipeline/clock.ts";
import { BatchPace } from "../../src/pipeline/lane/batch-pace.ts";
import { BatchScheduler } from "../../src/pipeline/lane/batch-scheduler.ts";
import { MemoryBudget } from "../../src/pipeline/memory-budget.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import { LaneHistories } from "../../src/pipeline/monitoring/lane-history.ts";
import { laneEvent } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

function storedLetter(id: string): StoredLetter {
  return {
    id,
    workspaceId: "w",
    destinationId: "d",
    sourceId: "s",
    messageId: "m",
    text: "{}",
    stage: "deliver",
    reason: "Answered 500",
    attempts: 1,
    user: "u",
    type: "track",
    receivedAt: 0,
    createdAt: 0,
  };
}

const code = { transformation: { code: "" }, libraries: [] as Revision[] } as LiveProgram;

/** A lane with endless live events and replays, of dead letters or of the log. */
function endlessLane(replayed = "dead letters", hasCode = true) {
  const isOfLog = replayed === "the log";
  let letters = 0;
  const requeuedIds = new Set<string>();
  const memory = new MemoryBudget().openLane("w");
  const ofLog = () => laneEvent({ origin: { log: "0", sequence: 0, replayId: "r" } });
  const requeued = () => ({ letter: storedLetter(`letter ${letters++}`), replayedAt: 0 });
  const scheduler = new BatchScheduler({
    destinationId: "d",
    reader: {
      recovering: undefined,
      take: async (count: number) => numbersTo(count).map(() => laneEvent()),
    },
    memory,
    program: () => (hasCode ? code : undefined),
    metrics: { histories: new LaneHistories() },
    ledger: {
      requeued: { oldest: (_id, _ids, count) => numbersTo(isOfLog ? 0 : count).map(requeued) },
    },
    replays: {
      isDue: isOfLog,
      take: (count: number) => numbersTo(isOfLog ? count : 0).map(ofLog),
      takeRecovered: async () => [],
    },
    requeuedIds,
    work: new Notifier(),
    clock: systemClock,
    pace: new BatchPace(),
    changed: new Notifier(),
  });
  const finish = (events: readonly LaneEvent[]) => {
    for (const _ of events) memory.dispatchEmpty();
    memory.settle(events.length);
    memory.commit(events);
  };
  return { scheduler, requeuedIds, memory, finish };
}

const isReplay = ({ origin }: LaneEvent) => "requeued" in origin || "replayId" in origin;

test.each(
  [1, 2, 5, 9, 100].flatMap((size) => [
    [size, "dead letters"] as const,
    [size, "the log"] as const,
  ]),
)(
  "replays have a tenth of batches of %d while there are live events: replays of %s",
  async (size, replayed) => {
    const { scheduler, requeuedIds, memory, finish } = endlessLane(replayed);
    // Outputs of this size leave room for `size` events.
    scheduler.size.noteOutputBytes(Math.ceil(memory.room.bytes / size));
    const taken = { live: 0, replays: 0 };
    while (taken.live + taken.replays < 1_000) {
      scheduler.size.noteOutputBytes(Math.ceil(memory.room.bytes / size));
      const events = await scheduler.take();
      expect(events.length).toBe(size);
      const replays = events.filter(isReplay).length;
      taken.replays += replays;
      taken.live += events.length - replays;
      requeuedIds.clear();
      finish(events);
    }
    expect(taken.replays / (taken.live + taken.replays)).toBeCloseTo(0.1, 1);
  },
);

test("live events go on while no more replays may be in flight", async () => {
  const { scheduler, requeuedIds, finish } = endlessLane();
  for (const n of numbersTo(1_000)) requeuedIds.add(`in flight ${n}`);
  for (const _ of numbersTo(50)) {
    const events = await scheduler.take();
    expect(events.some(isReplay)).toBe(false);
    finish(events);
  }
});

test("a batch that no code runs over is larger", async () => {
  expect((await endlessLane("the log", true).scheduler.take()).length).toBe(100);
  expect((await endlessLane("the log", false).scheduler.take()).length).toBe(500);
});

interface Given {
  /** New events, letters and replayed events that can be taken. */
  live?: LaneEvent[];
  letters?: string[];
  replayed?: LaneEvent[];
  recovering?: { letter?: string };
  recovered?: LaneEvent[];
  /** Fails each read of the ledger after the first. */
  ledgerError?: Error;
  elapsed?: () => number;
}

/** A lane with these events; `asked` are the bounds with which they were asked for. */
function laneWith({ live = [], letters = [], replayed = [], recovered = [], ...more }: Given) {
  const memory = new MemoryBudget().openLane("w");
  const requeuedIds = new Set<string>();
  const histories = new LaneHistories();
  const asked: { name: string; count: number; bytes?: number; last?: string | undefined }[] = [];
  const sleeps: number[] = [];
  const work = new Notifier();
  let reads = 0;
  const scheduler = new BatchScheduler({
    destinationId: "d",
    reader: {
      recovering: more.recovering as never,
      async take(count) {
        asked.push({ name: "live", count });
        return live.splice(0, count);
      },
    },
    ...{ memory, requeuedIds, work },
    program: () => code,
    metrics: { histories },
    ledger: {
      requeued: {
        oldest(_id, inFlight, count, { last } = {}) {
          if (reads++ > 0 && more.ledgerError !== undefined) throw more.ledgerError;
          asked.push({ name: "letters", count, last });
          const ids = letters.filter(
            (id) => !inFlight.has(id) && (last === undefined || id <= last),
          );
          return ids.slice(0, count).map((id) => ({ letter: storedLetter(id), replayedAt: 0 }));
        },
      },
    },
    replays: {
      get isDue() {
        return replayed.length > 0;
      },
      take(count: number, bytes: number) {
        asked.push({ name: "replays", count, bytes });
        return replayed.splice(0, count);
      },
      takeRecovered: async (count: number) => recovered.splice(0, count),
    },
    clock: {
      now: () => 1e12,
      elapsed: more.elapsed ?? (() => 0),
      sleep: async (ms) => void sleeps.push(ms),
    },
    pace: new BatchPace(),
    changed: new Notifier(),
  });
  return { scheduler, memory, requeuedIds, histories, asked, sleeps, work, letters, live };
}

const some = (count: number) => numbersTo(count).map(() => laneEvent());
const letterIds = (events: readonly LaneEvent[]) =>
  events.map(({ origin }) => ("requeued" in origin ? origin.requeued.id : "live"));

test("events that did not fit run again alone, those put back first before those put back last", async () => {
  const { scheduler } = laneWith({ live: some(3) });
  const [a, b, c] = some(3) as [LaneEvent, LaneEvent, LaneEvent];
  expect(scheduler.hasUnrun).toBe(false);
  scheduler.putBackLast([c]);
  scheduler.putBack([a, b]);
  expect(scheduler.hasUnrun).toBe(true);
  const taken = await scheduler.take();
  expect([taken.length, taken[0] === a, taken[1] === b, taken[2] === c]).toEqual([
    3,
    true,
    true,
    true,
  ]);
  expect(scheduler.hasUnrun).toBe(false);
  expect(await scheduler.take()).toHaveLength(3);
});

test("a lane without room takes nothing, and is notified when there is some", async () => {
  const { scheduler, memory, work } = laneWith({ live: some(10_000) });
  const all: LaneEvent[] = [];
  for (let taken = await scheduler.take(); taken.length > 0; taken = await scheduler.take()) {
    all.push(...taken);
  }
  expect([memory.isFull, scheduler.lacksMemory]).toEqual([true, true]);
  let isNotified = false;
  work.once(() => {
    isNotified = true;
  });
  for (const _ of all) memory.dispatchEmpty();
  memory.settle(all.length);
  memory.commit(all);
  await new Promise((resolve) => setImmediate(resolve));
  expect([isNotified, memory.isFull]).toEqual([true, false]);
  expect((await scheduler.take()).length).toBe(100);
  expect(scheduler.lacksMemory).toBe(false);
});

test("events that did not fit run again although the lane has no room for new ones", async () => {
  const { scheduler, memory } = laneWith({ live: some(10_000) });
  let last: LaneEvent[] = [];
  for (let taken = await scheduler.take(); taken.length > 0; taken = await scheduler.take()) {
    last = taken;
  }
  expect(memory.isFull).toBe(true);
  scheduler.putBack(last);
  const again = await scheduler.take();
  expect([again.length, again.every((it, index) => it === last[index])]).toEqual([
    last.length,
    true,
  ]);
});

test("dead letters are taken after the new events, each once, until more are requeued", async () => {
  const scene = laneWith({ live: some(2), letters: ["b", "a"] });
  const { scheduler, requeuedIds, letters, asked } = scene;
  expect(letterIds(await scheduler.take())).toEqual(["live", "live", "b", "a"]);
  expect([...requeuedIds]).toEqual(["b", "a"]);
  expect(await scheduler.take()).toEqual([]);
  // None was left, so the ledger is not asked again.
  const reads = () => asked.filter(({ name }) => name === "letters").length;
  const before = reads();
  letters.push("c");
  expect(await scheduler.take()).toEqual([]);
  expect(reads()).toBe(before);
  scheduler.noteRequeued();
  expect(letterIds(await scheduler.take())).toEqual(["c"]);
});

test("replayed events of the log get the memory that letters leave", async () => {
  const { scheduler, asked, memory } = laneWith({ letters: ["a"], replayed: some(2) });
  const { bytes } = memory.room;
  const events = await scheduler.take();
  expect(events).toHaveLength(3);
  const left = bytes - events[0]!.bytes;
  expect(asked.at(-1)).toEqual({ name: "replays", count: 99, bytes: left });
  expect(memory.uncommitted).toBe(3);
});

test("new events are taken when the batch is reserved for replays, and none is left", async () => {
  const { scheduler, letters } = laneWith({ live: some(20), letters: ["a"] });
  letters.length = 0;
  for (let batch = 0; batch < 20; batch++) {
    scheduler.noteRequeued();
    scheduler.size.noteOutputBytes(1e12);
    expect(letterIds(await scheduler.take())).toEqual(["live"]);
  }
});

test("an interrupted delivery is gathered whatever is reserved for replays", async () => {
  const given = { letters: ["a", "b"], recovering: { letter: "a" }, recovered: some(3) };
  const { scheduler, memory } = laneWith(given);
  const taken: string[] = [];
  for (let batch = 0; batch < 20; batch++) {
    scheduler.noteRequeued();
    scheduler.size.noteOutputBytes(1e12);
    taken.push(...letterIds(await scheduler.take()));
  }
  expect(taken).toEqual(["a", "live", "live", "live"]);
  expect(memory.uncommitted).toBe(4);
});

test("while an interrupted delivery is gathered, only its letters and its replayed events are taken", async () => {
  const mine = { replayed: some(1), recovered: some(2), letters: ["a", "b", "c"] };
  const scene = laneWith({ ...mine, recovering: { letter: "b" } });
  expect(letterIds(await scene.scheduler.take())).toEqual(["a", "b"]);
  expect((await scene.scheduler.take()).length).toBe(2);
  expect(await scene.scheduler.take()).toEqual([]);
  const withoutLetters = laneWith({ letters: ["a"], recovered: some(1), recovering: {} });
  expect(letterIds(await withoutLetters.scheduler.take())).toEqual(["live"]);
  expect(await withoutLetters.scheduler.take()).toEqual([]);
});

test("new events are not lost because the ledger cannot be read, and without any the error is told", async () => {
  const given = { letters: ["a"], ledgerError: new Error("The disk is broken") };
  const { scheduler } = laneWith({ ...given, live: some(2) });
  expect(await scheduler.take()).toHaveLength(2);
  await expect(scheduler.take()).rejects.toThrow("The disk is broken");
});

test("received events are counted by source, and not those that are sent again", async () => {
  const live = some(3);
  live[2]!.input = { ...live[2]!.input, sourceId: "other" };
  const { scheduler, histories } = laneWith({ live, letters: ["a"], replayed: some(4) });
  expect(await scheduler.take()).toHaveLength(8);
  const { sources } = histories.get("d").minute(1e12)!;
  expect(sources.map(([id, counts]) => [id, counts[0]])).toEqual([
    ["source", 2],
    ["other", 1],
  ]);
});

test("a lane has rested since its last event, and at first since ever", async () => {
  let now = 500;
  const { scheduler } = laneWith({ live: some(1), elapsed: () => now });
  expect(scheduler.hasRested(1e15)).toBe(true);
  await scheduler.take();
  now = 599;
  expect(scheduler.hasRested(100)).toBe(false);
  await scheduler.take();
  now = 600;
  expect(scheduler.hasRested(100)).toBe(true);
});

test("a lane waits for more events between batches only when events are frequent and it was idle", async () => {
  let now = 1_000;
  const { scheduler, live, sleeps } = laneWith({ elapsed: () => now });
  const take = async (count: number) => {
    live.push(...some(count));
    await scheduler.take();
    return sleeps.splice(0);
  };
  expect(await take(100)).toEqual([]);
  now = 1_100;
  // 1,000 events a second since the last 100 ms, half of those at which batches begin 10 ms apart.
  expect(await take(0)).toEqual([]);
  expect(await take(1)).toEqual([]);
  now = 1_102;
  expect(await take(0)).toEqual([]);
  expect(await take(1)).toEqual([3]);
  expect(await take(1)).toEqual([]);
});
