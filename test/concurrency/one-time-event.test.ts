import { heapStats } from "bun:jsc";
import { expect, test } from "bun:test";
import { OneTimeEvent } from "../../src/concurrency/one-time-event.ts";

test("a race with an event settles as the work does while the event has not happened", async () => {
  const event = new OneTimeEvent<string>();
  const failure = new Error("failed");
  expect(await event.race(Promise.resolve(7))).toBe(7);
  expect(await event.race(new Promise<number>(() => {}), Promise.resolve(8))).toBe(8);
  await expect(event.race(Promise.reject(failure))).rejects.toBe(failure);
  expect([event.hasHappened, event.waiting]).toEqual([false, 0]);
});

test("an event ends the races in progress and later ones with its first value", async () => {
  const event = new OneTimeEvent<string>();
  const forever = new Promise<string>(() => {});
  const races = [event.race(forever), event.race(forever)];
  expect(event.waiting).toBe(2);
  event.happen("stopped");
  event.happen("again");
  expect(await Promise.all(races)).toEqual(["stopped", "stopped"]);
  expect(await event.race(forever)).toBe("stopped");
  expect(await event.race(Promise.resolve("done"))).toBe("done");
  expect([event.hasHappened, event.waiting]).toEqual([true, 0]);
});

test("work that fails after an event has ended its race is no unhandled rejection", async () => {
  const event = new OneTimeEvent<string>();
  const work = Promise.withResolvers<string>();
  const race = event.race(work.promise);
  event.happen("stopped");
  expect(await race).toBe("stopped");
  work.reject(new Error("late"));
  expect(await event.race(Promise.resolve("next"))).toBe("next");
});

test("an event keeps nothing of a race that has ended", async () => {
  const event = new OneTimeEvent<void>();
  const objectsAfter = async (races: number) => {
    for (let n = 0; n < races; n++) await event.race(Promise.resolve(n));
    Bun.gc(true);
    return heapStats().objectCount;
  };
  await objectsAfter(1_000);
  const before = await objectsAfter(1_000);
  expect((await objectsAfter(20_000)) - before).toBeLessThan(2_000);
});
