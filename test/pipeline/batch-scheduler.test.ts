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
    ledger: { waitingLetters: (_id, _ids, count) => numbersTo(isOfLog ? 0 : count).map(requeued) },
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
