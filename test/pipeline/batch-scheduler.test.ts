import { expect, test } from "bun:test";
import { Notifier, systemClock } from "../../src/pipeline/clock.ts";
import {
  BatchScheduler,
  type BatchSchedulerParts,
} from "../../src/pipeline/lane/batch-scheduler.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";

/**
 * A lane with live events and replays without end, of dead letters or of the log, and room for so
 * many events at a time.
 */
function endless(room: number, kind = "dead letters") {
  const isOfLog = kind === "the log";
  let letters = 0;
  const replaying = new Set<string>();
  const live = { input: { sourceId: "s" }, origin: {} } as unknown as LaneEvent;
  const letter = () => ({ id: `letter ${letters++}`, text: "{}", user: "u" });
  const parts = {
    destinationId: "d",
    reader: { repeated: undefined, take: async (count: number) => Array(count).fill(live) },
    inFlight: { room: { events: room, bytes: 1 << 20 }, take() {}, mayEmit: () => true, wait() {} },
    metrics: { histories: { of: () => ({ received() {} }) } },
    ledger: {
      replays: (_id: string, _busy: unknown, count: number) =>
        Array.from({ length: isOfLog ? 0 : count }, () => ({ letter: letter(), replayedAt: 0 })),
    },
    replays: {
      isDue: isOfLog,
      take: (count: number) =>
        Array.from({ length: isOfLog ? count : 0 }, () => ({ origin: { replayId: "r" } })),
    },
    ...{ replaying, work: new Notifier(), clock: systemClock, changed: new Notifier() },
  } as unknown as BatchSchedulerParts;
  return { batches: new BatchScheduler(parts), replaying };
}

test.each(
  [1, 2, 5, 9, 100].flatMap((room) => [
    [room, "dead letters"] as const,
    [room, "the log"] as const,
  ]),
)(
  "beside live events, replays have a tenth of what is taken in batches of %d: of %s",
  async (room, kind) => {
    const { batches, replaying } = endless(room, kind);
    const taken = { live: 0, replays: 0 };
    while (taken.live + taken.replays < 1_000) {
      const items = await batches.take();
      expect(items.length).toBe(room);
      const isReplay = ({ origin }: LaneEvent) => "replayOf" in origin || "replayId" in origin;
      const replays = items.filter(isReplay).length;
      taken.replays += replays;
      taken.live += items.length - replays;
      replaying.clear();
    }
    expect(taken.replays / (taken.live + taken.replays)).toBeCloseTo(0.1, 1);
  },
);

test("live events go on when no more replays may be on their way", async () => {
  const { batches, replaying } = endless(1);
  for (let n = 0; n < 1_000; n += 1) replaying.add(`under way ${n}`);
  for (let n = 0; n < 50; n += 1) {
    const [item] = await batches.take();
    expect("replayOf" in item!.origin).toBe(false);
  }
});
