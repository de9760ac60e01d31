import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { pino } from "pino";
import type { Destination } from "../../src/catalog/model.ts";
import type { Positions } from "../../src/log/positions.ts";
import { systemClock } from "../../src/pipeline/clock.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../../src/pipeline/limits.ts";
import { type EventJob, noCounts } from "../../src/pipeline/model/replay-job.ts";
import { EventReplay } from "../../src/pipeline/replays/event-replay.ts";
import { fail, feedOf, MemoryLog, record } from "./doubles.ts";
import { hurried } from "./hurried.ts";
import { lettersOf, numbersTo, type Received, Rig, sorted, until } from "./rig.ts";

interface Place {
  sequence: number;
}

const HOUR = 3_600_000;
let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

/** Events of several users, each received a second after the one before; the last one just now. */
function append(count: number, users = 5, over = {}): void {
  for (const n of numbersTo(count)) {
    rig.log.append(record(n, `user ${n % users}`, { receivedAt: receivedAt(n, count), ...over }));
  }
}

const started = Date.now() - 1_000;
const receivedAt = (n: number, count: number) => started - (count - 1 - n) * 1_000;
const job = (id: string) => rig.pipeline.replays.get("workspace", id) as EventJob;
const ended = (id: string) => until(() => job(id).state !== "running", "the replay", 60_000);

async function replay(over = {}): Promise<EventJob> {
  const asked = { destinationId: "one", from: Date.now() - 100 * HOUR, rate: 100_000, ...over };
  return (await rig.pipeline.replays.start("workspace", asked)) as EventJob;
}

function expectOrder(taken: readonly Received[], users = 5): void {
  for (const user of numbersTo(users)) {
    const own = taken.filter((e) => e.anonymousId === `user ${user}`).map(({ n }) => n);
    expect(own).toEqual(sorted(own));
  }
}

describe("replay", () => {
  test("a replay sends the events of its time range once, each user's in order", async () => {
    const sink = rig.webhook("one");
    rig.start();
    append(600);
    await until(() => sink.taken.length === 600);
    sink.taken.length = 0;
    const { id } = await replay({
      from: receivedAt(100, 600) - 500,
      to: receivedAt(500, 600) - 500,
    });
    await ended(id);
    expect(sorted(sink.numbers())).toEqual(numbersTo(500).slice(100));
    expectOrder(sink.taken);
    expect(job(id)).toMatchObject({
      state: "done",
      counts: { delivered: 400, dropped: 0, failed: 0 },
      endedAt: expect.any(Number),
    });
    expect(job(id).missingBefore).toBeUndefined();
  });

  test("a replay sends events received before the clock was set back", async () => {
    const sink = rig.webhook("one");
    rig.start();
    const minutesAgo = [60, ...Array(20).fill(50), ...Array(200).fill(55)];
    for (const [n, minutes] of minutesAgo.entries()) {
      rig.log.append(record(n, "user", { receivedAt: started - minutes * 60_000 }));
    }
    await until(() => sink.taken.length === minutesAgo.length);
    sink.taken.length = 0;
    await ended((await replay({ from: started - 52 * 60_000 })).id);
    expect(sink.numbers()).toEqual(numbersTo(21).slice(1));
  });

  test("a replay reaches a destination without a connection, with events from before its connection", async () => {
    rig.start();
    append(20);
    const sink = rig.webhook("one");
    for (const id of rig.live.connections.keys()) rig.live.disconnect(id);
    const { id } = await replay({ sourceId: "source" });
    await ended(id);
    expect(sorted(sink.numbers())).toEqual(numbersTo(20));
  });

  test("a replay runs the live code, and failed events become dead letters", async () => {
    const sink = rig.webhook("one");
    const pipeline = rig.start();
    append(30);
    await until(() => sink.taken.length === 30);
    sink.taken.length = 0;
    rig.sandbox.codes.set("new", (event) => {
      if (event.n % 10 === 3) return null;
      if (event.n % 10 === 4) throw new Error("Four");
      return { ...event, isNew: true };
    });
    rig.live.publish("one", "new", "v2");
    const { id } = await replay();
    await ended(id);
    expect(sink.taken.every(({ isNew }) => isNew === true)).toBe(true);
    expect(sink.taken.length).toBe(24);
    expect(job(id).counts).toMatchObject({ delivered: 24, dropped: 3, failed: 3 });
    expect(lettersOf(pipeline).length).toBe(3);
  });

  test("a replay keeps the messageId of its events", async () => {
    const ids: string[][] = [[], []];
    rig.webhook("one", (_, request) => {
      ids[round]!.push(request.headers.get("x-pixelmill-message-id") ?? "");
      return new Response("");
    });
    let round = 0;
    rig.start();
    append(10, 1);
    await until(() => ids[0]!.length === 10);
    round = 1;
    await ended((await replay()).id);
    expect(ids[1]).toEqual(ids[0]!);
  });

  test.each([
    [{ type: "page" }, (n: number) => n % 2 === 0],
    [{ anonymousId: "user 3" }, (n: number) => n % 5 === 3],
    [{ event: "seen", anonymousId: "user 1", type: "track" }, (n: number) => n % 10 === 1],
    [{ event: "other" }, () => false],
    [{ userId: "unknown" }, () => false],
  ])("a replay sends only events that match its filter: %j", async (filter, holds) => {
    const sink = rig.webhook("one");
    rig.start();
    for (const n of numbersTo(100)) {
      rig.log.append(record(n, `user ${n % 5}`, { type: n % 2 === 0 ? "page" : "track" }));
    }
    await until(() => sink.taken.length === 100);
    sink.taken.length = 0;
    await Bun.sleep(2);
    await ended((await replay({ filter })).id);
    expect(sorted(sink.numbers())).toEqual(numbersTo(100).filter(holds));
  });

  test("a replay sends only events of its sources", async () => {
    const sink = rig.webhook("one");
    rig.live.addSource("other");
    rig.live.addSource("strange", "another workspace");
    rig.start();
    for (const n of numbersTo(90)) {
      const sourceId = ["source", "other", "strange"][n % 3]!;
      rig.log.append(record(n, "ann", { sourceId }));
    }
    await until(() => sink.taken.length === 30);
    await Bun.sleep(2);
    sink.taken.length = 0;
    await ended((await replay()).id);
    expect(sink.numbers()).toEqual(numbersTo(90).filter((n) => n % 3 === 0));
    sink.taken.length = 0;
    await ended((await replay({ sourceId: "other" })).id);
    expect(sink.numbers()).toEqual(numbersTo(90).filter((n) => n % 3 === 1));
    await expect(replay({ sourceId: "strange" })).rejects.toThrow("Source not found");
  });

  test("a replay resumes after a stop, and sends no event twice", async () => {
    const sink = rig.webhook("one");
    rig.start();
    append(400);
    await until(() => sink.taken.length === 400);
    sink.taken.length = 0;
    const { id } = await replay({ rate: 500 });
    await until(() => sink.taken.length >= 100);
    await rig.stop();
    const before = sink.taken.length;
    expect(before).toBeLessThan(400);
    rig.start();
    expect(job(id).state).toBe("running");
    await ended(id);
    expect(sorted(sink.numbers())).toEqual(numbersTo(400));
    expectOrder(sink.taken);
    expect(job(id).counts.delivered).toBe(400);
  });

  test("a replay keeps to its rate", async () => {
    const sink = rig.webhook("one");
    rig.start();
    append(300);
    await until(() => sink.taken.length === 300);
    const started = performance.now();
    const { id } = await replay({ rate: 300 });
    await ended(id);
    // The first tenth of a second is allowed at once.
    expect(performance.now() - started).toBeGreaterThan(850);
  });

  test("a cancelled replay sends no more events", async () => {
    const sink = rig.webhook("one");
    rig.start();
    append(400);
    await until(() => sink.taken.length === 400);
    sink.taken.length = 0;
    // At this rate it would last 13 seconds.
    const { id } = await replay({ rate: 30 });
    await until(() => sink.taken.length >= 10);
    const cancelled = await rig.pipeline.replays.cancel("workspace", id);
    expect(cancelled?.state).toBe("cancelled");
    // Events in flight may still arrive.
    let sent: number;
    do {
      sent = sink.taken.length;
      await Bun.sleep(500);
    } while (sink.taken.length > sent);
    expect(sent).toBeLessThan(400);
    expect(job(id)).toMatchObject({ state: "cancelled", endedAt: expect.any(Number) });
    // A further one is not refused because of it.
    await ended((await replay()).id);
    expect(sink.taken.length).toBe(sent + 400);
  });

  test("a replay to a destination that is disabled and enabled again loses no event and makes no dead letters", async () => {
    const sink = rig.webhook("one");
    rig.sandbox.codes.set("twice", (event) => [event, { ...event, part: 2 }]);
    const clock = hurried(100);
    rig.start({ clock });
    append(800);
    await until(() => sink.taken.length === 800);
    rig.live.publish("one", "twice", "v1");
    sink.answer = () => new Response("", { status: Math.random() < 0.3 ? 503 : 200 });
    sink.taken.length = 0;
    const { id } = await replay();
    for (const count of [1, 200, 600, 1_200]) {
      await until(() => sink.taken.length >= count);
      rig.live.putDestination("one", { enabled: false });
      if (count === 600) {
        await rig.stop();
        rig.start({ clock });
      }
      await Bun.sleep(300);
      rig.live.putDestination("one", { enabled: true });
    }
    await ended(id);
    expect(rig.pipeline.deadLetters.count("workspace")).toBe(0);
    const first = sink.taken.filter(({ part }) => part === undefined).map(({ n }) => n);
    expect(new Set(first).size).toBe(800);
    expect(new Set(sink.taken.filter(({ part }) => part === 2).map(({ n }) => n)).size).toBe(800);
    expect(job(id).counts).toMatchObject({ delivered: 800, failed: 0, discarded: 0 });
  });

  test("a replay that is cancelled while its destination is down ends at once", async () => {
    const sink = rig.webhook("one");
    const pipeline = rig.start();
    append(100);
    await until(() => sink.taken.length === 100);
    sink.answer = () => new Response("", { status: 503 });
    const { id } = await replay();
    await until(() => sink.requests > 100);
    await pipeline.replays.cancel("workspace", id);
    const discarded = () => job(id).counts.discarded;
    sink.answer = () => new Response("");
    await until(() => discarded() > 0, "what was on its way", 60_000);
    expect(sink.taken.length + discarded()).toBeLessThanOrEqual(100 + LANE_REPLAYS_EVENTS_MAX);
  });

  test("a replay lets live events go first", async () => {
    const sink = rig.webhook("one");
    rig.start();
    append(3_000);
    await until(() => sink.taken.length === 3_000);
    sink.taken.length = 0;
    sink.answer = async () => {
      await Bun.sleep(5);
      return new Response("");
    };
    const { id } = await replay();
    await until(() => sink.taken.length > 100);
    const before = sink.taken.length;
    for (const n of numbersTo(20)) rig.log.append(record(10_000 + n, `live ${n}`));
    await until(() => sink.taken.filter(({ n }) => n >= 10_000).length === 20);
    // Only replays in flight, and the fraction beside live events, arrive before the live events.
    expect(sink.taken.length - before).toBeLessThan(4 * LANE_REPLAYS_EVENTS_MAX);
    await rig.pipeline.replays.cancel("workspace", id);
  });

  test("a replay keeps its unread records from trimming, and reports those trimmed before", async () => {
    const sink = rig.webhook("one");
    const pipeline = rig.start();
    append(300);
    await until(() => sink.taken.length === 300);
    await rig.log.trim(100);
    sink.taken.length = 0;
    const { id } = await replay();
    await ended(id);
    expect(sorted(sink.numbers())).toEqual(numbersTo(300).slice(100));
    const missing = job(id).missingBefore!;
    expect(missing).toBe(receivedAt(100, 300));
    expect(pipeline.replays.list("workspace").map((it) => it.id)).toEqual([id]);
  });
});

/** A replay of the records 10 to 39 of a log that has `count`. */
function replayOf(count: number, recovered?: Positions): EventReplay {
  const log = new MemoryLog();
  for (const n of numbersTo(count)) log.append(record(n, "ann", { receivedAt: 1_000 + n }));
  return new EventReplay({
    job: {
      ...{ id: "job", workspaceId: "workspace", kind: "events", state: "running" },
      ...{ destinationId: "one", sources: ["source"], from: 0, to: 5_000, rate: 100_000 },
      ...{ createdAt: 0, counts: noCounts, starts: { "0": 10 }, ends: { "0": 40 } },
      logs: { "0": { next: 10, pending: [] } },
    },
    ...{ logs: feedOf(log), clock: systemClock, logger: pino({ level: "silent" }) },
    destination: { id: "one" } as Destination,
    ...{ inFlightMax: 256, recovered, onReady() {}, onRead() {}, fail },
  });
}

test("a replay of a time of which no event is kept reports that they are missing", async () => {
  const sink = rig.webhook("one");
  rig.start();
  const at = (n: number) => started - (9 - n) * HOUR;
  for (const n of numbersTo(10)) rig.log.append(record(n, "ann", { receivedAt: at(n) }));
  await until(() => sink.taken.length === 10);
  await rig.log.trim(5);
  const { id } = await replay({ from: at(0), to: at(3) });
  await ended(id);
  expect(job(id).missingBefore).toBe(at(3));
  const later = await replay({ from: at(6), to: at(8) });
  await ended(later.id);
  expect(job(later.id)).toMatchObject({ counts: { delivered: 2 } });
  expect(job(later.id).missingBefore).toBeUndefined();
});

test("a replay that ends before it has read its interrupted delivery releases its lane", async () => {
  const replay = replayOf(15, { "0": 20 });
  expect(await replay.takeRecovered(5, 1 << 20)).toHaveLength(5);
  const taken = replay.takeRecovered(5, 1 << 20);
  replay.end();
  expect(await taken).toEqual([]);
});

test("a replay keeps the log from its first unsettled record on, until it ends", async () => {
  const replay = replayOf(50);
  expect(replay.durableLow("0")).toBe(10);
  const taken: number[] = [];
  await until(() => {
    taken.push(...replay.take(100, 1 << 20).map(({ origin }) => (origin as Place).sequence));
    return taken.length === 30;
  });
  expect(taken).toEqual(numbersTo(40).slice(10));
  const settle = (from: number, to: number) => {
    for (let n = from; n < to; n++) replay.settle("0", n, "delivered");
    const progress = replay.progress()!;
    replay.committed(replay.lows());
    return progress;
  };
  expect(replay.progress()).toMatchObject({ counts: noCounts });
  // Nothing to store again.
  expect(replay.progress()).toBeUndefined();
  // Settled, but not on disk.
  replay.settle("0", 10, "delivered");
  expect(replay.durableLow("0")).toBe(10);
  expect(settle(11, 25)).toMatchObject({ counts: { delivered: 15 } });
  expect(replay.durableLow("0")).toBe(25);
  expect(settle(26, 40).doneAt).toBeUndefined();
  expect(replay.durableLow("0")).toBe(25);
  expect(settle(25, 26)).toMatchObject({ counts: { delivered: 30 }, doneAt: expect.any(Number) });
  replay.end();
  expect(replay.durableLow("0")).toBeUndefined();
});

describe("refused replay", () => {
  test.each([
    ["to a destination that is not there", { destinationId: "two" }, "Destination not found"],
    ["of an empty time range", { from: 5, to: 5 }, "Expected `from` to be before `to`"],
    ["of the future", { from: Date.now() + HOUR }, "Expected `from` to be before `to`"],
  ])("a replay %s is refused", async (_, over, message) => {
    rig.webhook("one");
    rig.start();
    await expect(replay(over)).rejects.toThrow(message);
  });

  test("a replay of another workspace is refused", async () => {
    rig.webhook("one");
    const { replays } = rig.start();
    const asked = { destinationId: "one", from: 0 };
    await expect(replays.start("other", asked)).rejects.toThrow("Destination not found");
    const { id } = await replay({ rate: 1 });
    expect(replays.get("other", id)).toBeUndefined();
    expect(await replays.cancel("other", id)).toBeUndefined();
    expect(job(id).state).toBe("running");
  });

  test("a replay is refused while another one to the same destination runs", async () => {
    rig.webhook("one");
    rig.start();
    append(50);
    await replay({ rate: 1 });
    await expect(replay()).rejects.toThrow("A replay to this destination is running already");
  });
});

describe("job over dead letters", () => {
  /** Events that the destination refused, each for a reason with its number. */
  async function refuse(count: number) {
    const sink = rig.webhook("one", () => new Response("", { status: 400 }));
    const pipeline = rig.start();
    append(count);
    await until(() => pipeline.deadLetters.count("workspace") === count);
    sink.answer = () => new Response("");
    return { sink, pipeline };
  }
  const state = (id: string) => rig.pipeline.replays.get("workspace", id)!;
  const over = (id: string) => until(() => state(id).state !== "running", "the job");

  test("a job replays all dead letters that match its filter, and none that fail again", async () => {
    const { sink, pipeline } = await refuse(600);
    sink.answer = (events) => new Response("", { status: events[0]!.n % 100 === 7 ? 400 : 200 });
    const asked = { kind: "dead-letters", filter: { destinationId: "one" }, rate: 50_000 } as const;
    const { id } = await pipeline.replays.startLetters("workspace", asked);
    await over(id);
    expect(state(id)).toMatchObject({
      state: "done",
      seen: 600,
      total: 600,
      counts: { moved: 600 },
    });
    await until(() => sink.taken.length === 594 && lettersOf(pipeline).length === 6);
    expect(sorted(sink.numbers())).toEqual(numbersTo(600).filter((n) => n % 100 !== 7));
    expectOrder(sink.taken);
  });

  test("a job over dead letters resumes after a stop, and can be cancelled", async () => {
    const { sink, pipeline } = await refuse(600);
    const asked = { kind: "dead-letters", filter: {}, rate: 200 } as const;
    const { id } = await pipeline.replays.startLetters("workspace", asked);
    await until(() => sink.taken.length >= 50);
    await rig.stop();
    const before = sink.taken.length;
    rig.start();
    await until(() => sink.taken.length > before);
    await rig.pipeline.replays.cancel("workspace", id);
    const { moved } = state(id).counts;
    expect(moved).toBeLessThan(600);
    await until(() => sink.taken.length === moved);
    expect(rig.pipeline.deadLetters.count("workspace")).toBe(600 - moved);
    expect(state(id).state).toBe("cancelled");
  });

  test("a job purges the dead letters that match its filter", async () => {
    const { pipeline } = await refuse(300);
    const all = lettersOf(pipeline);
    const to = all[200]!.createdAt;
    const rest = all.filter(({ createdAt }) => createdAt >= to).map(({ id }) => id);
    const { id } = await pipeline.replays.startLetters("workspace", {
      kind: "purge",
      filter: { to },
    });
    await over(id);
    expect(lettersOf(pipeline).map((letter) => letter.id)).toEqual(rest);
    expect(state(id).counts.moved).toBe(300 - rest.length);
  });
});

describe("dead letter filters", () => {
  test("dead letters are found by reason, revision and time", async () => {
    rig.webhook("one");
    const pipeline = rig.start();
    rig.sandbox.codes.set("fails", ({ n }) => {
      throw new Error(n % 2 === 0 ? "Even odds" : "An odd one");
    });
    rig.live.publish("one", "fails", "v1");
    append(10);
    await until(() => pipeline.deadLetters.count("workspace") === 10);
    await Bun.sleep(5);
    const between = Date.now();
    rig.live.publish("one", "fails", "v2");
    append(10);
    await until(() => pipeline.deadLetters.count("workspace") === 20);
    const found = (filter: object) =>
      pipeline.deadLetters.find("workspace", { ...filter, count: 100 }).letters.length;
    expect(found({})).toBe(20);
    expect(found({ reason: "ODD ONE" })).toBe(10);
    expect(found({ reason: "odd" })).toBe(20);
    expect(found({ transformationVersionId: "v2" })).toBe(10);
    expect(found({ reason: "even", transformationVersionId: "v2" })).toBe(5);
    expect(found({ from: between })).toBe(10);
    expect(found({ to: between, reason: "even", destinationId: "one" })).toBe(5);
    expect(found({ from: between, to: between })).toBe(0);
  });

  test("dead letters are found page by page, also where few of many match", async () => {
    rig.webhook("one", () => new Response("", { status: 400 }));
    const pipeline = rig.start();
    append(2_500);
    await until(() => pipeline.deadLetters.count("workspace") === 2_500, "letters", 60_000);
    let after = "";
    let pages = 0;
    for (;;) {
      const { letters, reached } = pipeline.deadLetters.find("workspace", {
        reason: "nothing like it",
        after,
        count: 5,
      });
      expect(letters).toEqual([]);
      pages += 1;
      if (reached === undefined) break;
      after = reached;
    }
    expect(pages).toBe(3);
  });
});
