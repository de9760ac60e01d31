import { afterEach, beforeEach, expect, test } from "bun:test";
import { type Clock, type Notifier, systemClock } from "../../src/pipeline/clock.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../../src/pipeline/limits.ts";
import { LANE_DELIVERIES_MAX } from "../../src/settings/limits.ts";
import { holds } from "../until.ts";
import { record } from "./doubles.ts";
import { hurried } from "./hurried.ts";
import { lettersOf, numbersTo, Rig, until } from "./rig.ts";

let rig: Rig;
beforeEach(() => {
  rig = new Rig();
});
afterEach(() => rig.end());

test("a backlog is sent in full requests, each user's events in order", async () => {
  const sink = rig.webhook("one", undefined, { batchSize: 100 });
  rig.log.append(...numbersTo(6_000).map((n) => record(n, `user ${n % 501}`)));
  // Waits last long: not the clock but the backlog's end sends what is not full.
  rig.start({ clock: hurried(0.01) });
  await until(() => sink.taken.length >= 6_000);
  expect(sink.taken.length / sink.requests).toBeGreaterThan(80);
  const last = new Map<string, number>();
  for (const { anonymousId, n } of sink.taken) {
    expect(last.get(anonymousId) ?? -1).toBeLessThan(n);
    last.set(anonymousId, n);
  }
});

test("events of several users that arrive together are sent in one request", async () => {
  const sink = rig.webhook("one", undefined, { batchSize: 100 });
  rig.log.append(...numbersTo(40).map((n) => record(n, `user ${n}`)));
  rig.start();
  await until(() => sink.taken.length >= 40);
  expect(sink.requests).toBe(1);
  expect(sink.numbers()).toEqual(numbersTo(40));
});

test("an event that is retried delays its own user, and hardly any other", async () => {
  const sink = rig.webhook("one", ([event]) => {
    return new Response("", { status: event!.anonymousId === "bad" ? 503 : 200 });
  });
  rig.start({ clock: hurried(0.1) });
  rig.log.append(record(0, "bad"), record(1, "bad"));
  await until(() => sink.requests > 0);
  await Bun.sleep(20);
  rig.log.append(...numbersTo(100).map((n) => record(10 + n, `user ${n}`)));
  await until(() => sink.taken.length >= 100);
  expect(sink.taken.some(({ anonymousId }) => anonymousId === "bad")).toBe(false);
});

/** Pauses last until they are notified out of, or the test ends one. */
function pausedClock() {
  const pauses = new Set<() => void>();
  let ahead = 0;
  const clock: Clock = {
    now: () => systemClock.now() + ahead,
    elapsed: () => systemClock.elapsed() + ahead,
    age: (at) => Math.max(0, clock.now() - at),
    random: () => 1,
    sleep: (_, until: Notifier) =>
      new Promise<void>((resolve) => {
        const end = () => {
          forget();
          pauses.delete(end);
          resolve();
        };
        const forget = until.once(end);
        pauses.add(end);
      }),
  };
  const advance = (ms: number) => {
    ahead += ms;
  };
  return { clock, pauses, advance };
}

test("a success after an outage resumes all queues that wait for their next attempt", async () => {
  let isDown = true;
  const sink = rig.webhook("one", () => new Response("", { status: isDown ? 503 : 200 }));
  const { clock, pauses, advance } = pausedClock();
  rig.log.append(...numbersTo(200).map((n) => record(n, `user ${n}`)));
  rig.start({ clock });
  await until(() => pauses.size === LANE_DELIVERIES_MAX, "all queues to wait");
  expect(sink.taken.length).toBe(0);
  advance(10_000);
  isDown = false;
  [...pauses][0]!();
  await until(() => sink.taken.length >= 200, "the siblings");
});

test("a queue waits as long as its receiver asked, although another queue succeeded", async () => {
  let isDown = true;
  const later = { status: 503, headers: { "retry-after": "60" } };
  const sink = rig.webhook("one", () => (isDown ? new Response("", later) : new Response("")));
  const { clock, pauses, advance } = pausedClock();
  rig.log.append(...numbersTo(64).map((n) => record(n, `user ${n}`)));
  rig.start({ clock });
  await until(() => pauses.size === LANE_DELIVERIES_MAX, "all queues to wait");
  advance(10_000);
  isDown = false;
  const [first, ...others] = [...pauses];
  first!();
  await until(() => sink.taken.length > 0);
  await holds(50, () => expect(others.filter((pause) => pauses.has(pause))).toEqual(others));
});

test("live events go before replays, which continue beside them", async () => {
  let isRefused = true;
  const sink = rig.webhook("one", async () => {
    if (isRefused) return new Response("", { status: 400 });
    await Bun.sleep(1);
    return new Response("");
  });
  const many = 3_000;
  rig.start();
  rig.log.append(...numbersTo(many).map((n) => record(n, `old ${n % 101}`)));
  await until(() => rig.pipeline.deadLetters.count("workspace") === many, "the letters");
  const ids = lettersOf(rig.pipeline).map(({ id }) => id);
  isRefused = false;
  await rig.pipeline.deadLetters.replay("workspace", ids);
  await until(() => sink.taken.length > 0, "the first replays");
  const before = sink.taken.length;
  rig.log.append(...numbersTo(50).map((n) => record(n, "live")));
  await until(() => sink.taken.filter(({ anonymousId }) => anonymousId === "live").length >= 50);
  // Replays that were in flight already, and the fraction that goes beside live events.
  expect(sink.taken.length - before).toBeLessThan(2 * LANE_REPLAYS_EVENTS_MAX + 500);
  await until(() => sink.taken.length >= many + 50, "the rest");
  const old = sink.taken.filter(({ anonymousId }) => anonymousId !== "live");
  expect(old.length).toBe(many);
  const last = new Map<string, number>();
  for (const { anonymousId, n } of old) {
    expect(last.get(anonymousId) ?? -1).toBeLessThan(n);
    last.set(anonymousId, n);
  }
}, 300_000);
