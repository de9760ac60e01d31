import { expect, onTestFinished, setDefaultTimeout, spyOn, test } from "bun:test";
import { pino } from "pino";
import { Registry } from "prom-client";
import { noLogs, testLogs } from "../../../src/sandbox/batch/batch-logs.ts";
import { BatchRun } from "../../../src/sandbox/batch/batch-run.ts";
import type { BatchRunOptions } from "../../../src/sandbox/batch/batch-run-options.ts";
import { ProgramSuspensions } from "../../../src/sandbox/batch/program-suspension.ts";
import { runBatch } from "../../../src/sandbox/batch/run-batch.ts";
import { defaultLimits } from "../../../src/sandbox/limits.ts";
import { createSandboxMetrics } from "../../../src/sandbox/metrics.ts";
import {
  GUEST_CPU_MS_MAX,
  GUEST_CULPRITS_MAX,
  GUEST_SHORT_CPU_MS_MAX,
} from "../../../src/settings/limits.ts";
import { batch, PATIENCE_MS, program, shown } from "../support.ts";
import { ENDLESS, type SimulatedEvent, SimulatedGuests } from "./simulated-guests.ts";

setDefaultTimeout(PATIENCE_MS);

const TIMED_OUT = "Script execution timed out.";
const EVENTS = 60;

/** Events of which those that `isLooping` selects loop; the others need `goodMs` of CPU each. */
const mixed = (isLooping: (n: number) => boolean, goodMs: number, count = EVENTS) =>
  Array.from({ length: count }, (_, n) => ({ n, cpuMs: isLooping(n) ? ENDLESS : goodMs }));

const expected = (events: readonly SimulatedEvent[]) =>
  events.map(({ n, cpuMs }) => (cpuMs === ENDLESS ? TIMED_OUT : [{ n }]));

/** How often a culprit costs its time, by whether the guests are Python's. */
const costs = [
  [false, 1],
  [true, 2],
] as const;

async function run(
  guests: SimulatedGuests,
  events: readonly SimulatedEvent[],
  culpritsMax = GUEST_CULPRITS_MAX,
  more: Partial<BatchRunOptions> = {},
) {
  const options = { limits: defaultLimits, logs: noLogs, culpritsMax, bytesMax: 1 << 20 };
  const one = new BatchRun(program(""), batch(...events), {
    ...options,
    hostFunctions: {},
    ...more,
  });
  await runBatch(guests, one);
  return one.finish();
}

test("only the first culprits of a batch use the whole CPU time", async () => {
  const guests = new SimulatedGuests();
  const events = mixed((n) => n % 5 === 3, 0.1, 100);
  const { outcomes, culprits } = await run(guests, events);
  expect(shown(outcomes)).toEqual(expected(events));
  expect(culprits).toHaveLength(20);
  const whole = guests.runs.filter(({ usedMs }) => usedMs > GUEST_SHORT_CPU_MS_MAX);
  expect(whole).toHaveLength(GUEST_CULPRITS_MAX);
});

test("a program with many recent culprits spends a short time on each further one", async () => {
  for (const [isPython, runs] of costs) {
    const guests = new SimulatedGuests(1, isPython);
    guests.warm();
    const events = mixed((n) => n % 5 === 3, 0.1, 100);
    const { outcomes } = await run(guests, events, 0);
    expect(shown(outcomes)).toEqual(expected(events));
    expect(guests.usedMs).toBeLessThan((20 * runs + 1) * GUEST_SHORT_CPU_MS_MAX);
    expect(guests.starts).toBe(1);
  }
});

test("a program that was stopped is dropped, and loaded again with the time of a load", async () => {
  const guests = new SimulatedGuests();
  await run(guests, [...mixed(() => true, 0, 2), { n: 2, cpuMs: 0.1 }]);
  expect(guests.loads).toEqual([
    { program: 1, drop: [] },
    { program: 2, drop: [1] },
    { program: 3, drop: [2] },
  ]);
  expect(guests.guest().softTimeouts).toBe(2);
});

test("a busy machine is found out once for each batch", async () => {
  const guests = new SimulatedGuests(0.05);
  guests.warm();
  const events = mixed((n) => n % 5 === 3, 0.1, 100);
  const { outcomes } = await run(guests, events, 0);
  expect(shown(outcomes)).toEqual(expected(events));
  // One run for each of 20 culprits, and one for each doubling of the clock time.
  expect(guests.runs.length).toBeLessThan(20 + 10);
  expect(guests.usedMs).toBeLessThan(30 * GUEST_SHORT_CPU_MS_MAX);
});

test("code is loaded on a busy machine as on an idle one", async () => {
  for (const share of [1, 0.5, 0.2, 0.07]) {
    const guests = new SimulatedGuests(share);
    guests.loadMs = 0.9 * GUEST_CPU_MS_MAX;
    const { outcomes, culprits, isDoubtful } = await run(
      guests,
      mixed(() => false, 0.1, 2),
    );
    expect([share, shown(outcomes)]).toEqual([share, [[{ n: 0 }], [{ n: 1 }]]]);
    expect([share, culprits, isDoubtful]).toEqual([share, [], false]);
  }
});

test("code that loops while it is loaded uses little more than the CPU time, and ends no guest", async () => {
  for (const [share, loads, isDoubtful] of [
    [1, 1, false],
    [0.5, 2, false],
    [0.2, 2, false],
    // The longest clock time is not enough.
    [0.01, 2, true],
  ] as const) {
    const guests = new SimulatedGuests(share);
    guests.loadMs = ENDLESS;
    const result = await run(
      guests,
      mixed(() => false, 0.1, 2),
    );
    expect([share, shown(result.outcomes)]).toEqual([share, [TIMED_OUT, TIMED_OUT]]);
    expect([share, result.error]).toEqual([share, { message: TIMED_OUT }]);
    expect([share, guests.loads.length, guests.starts]).toEqual([share, loads, 1]);
    expect(guests.loadsUsedMs).toBeLessThan(2 * GUEST_CPU_MS_MAX);
    expect([share, result.culprits, result.isDoubtful]).toEqual([share, [], isDoubtful]);
  }
});

test("code that loops while it is loaded ends no guest of a machine that is less busy by then", async () => {
  const guests = new SimulatedGuests();
  guests.loadMs = ENDLESS;
  guests.loadShares.push(0.4, 0.7);
  const { culprits } = await run(
    guests,
    mixed(() => false, 0.1, 1),
  );
  expect([culprits, guests.starts, guests.loads.length]).toEqual([[], 1, 2]);
});

test("the first events of a fresh guest have more than the short time", async () => {
  const events = [{ n: 0, cpuMs: GUEST_CPU_MS_MAX / 5 }, ...mixed(() => true, 0, 3)];
  const { outcomes } = await run(new SimulatedGuests(), events, 0);
  expect(shown(outcomes)).toEqual(expected(events));
});

test("a culprit costs the whole CPU time once, or twice where the time of events is not known", async () => {
  for (const [isPython, runs] of costs) {
    for (let place = 0; place < EVENTS; place += 1) {
      const guests = new SimulatedGuests(1, isPython);
      const events = mixed((n) => n === place, 0.1);
      await run(guests, events);
      expect([place, guests.usedMs <= runs * GUEST_CPU_MS_MAX + EVENTS]).toEqual([place, true]);
      expect(guests.starts).toBe(1);
    }
  }
});

const shares = [1, 0.5, 0.2, 0.05];
const goods: [kind: string, goodMs: number, culpritsMax: number][] = [
  ["cheap", 0.1, GUEST_CULPRITS_MAX],
  ["cheap, after many culprits,", 0.1, 0],
  ["of a tenth of the short CPU time", GUEST_SHORT_CPU_MS_MAX / 10, 0],
  ["of more than their share of a batch", GUEST_CPU_MS_MAX / 40, GUEST_CULPRITS_MAX],
];

test.each(goods.flatMap((kind) => shares.map((share) => [...kind, share] as const)))(
  "good events, %s stand beside looping ones (%p ms, %p culprits, CPU share %p)",
  async (_, goodMs, culpritsMax, share) => {
    for (const period of [EVENTS, 20, 5]) {
      for (let place = 0; place < period; place += 1) {
        const isLooping = (n: number) => n % period === place;
        // Events that need as much as the short CPU time are beyond what later ones get.
        if (goodMs >= GUEST_SHORT_CPU_MS_MAX && EVENTS / period > culpritsMax) continue;
        const events = mixed(isLooping, goodMs);
        for (const isPython of [false, true]) {
          const guests = new SimulatedGuests(share, isPython);
          const { outcomes } = await run(guests, events, culpritsMax);
          expect([period, place, shown(outcomes)]).toEqual([period, place, expected(events)]);
        }
      }
    }
  },
);

test("good events among events that end their guest have their outputs", async () => {
  for (const ends of ["memory", "crash", "timeout", "overflow"] as const) {
    for (let place = 0; place < 5; place += 1) {
      const events = mixed(() => false, 0.1).map((event) =>
        event.n % 5 === place ? { ...event, ends } : event,
      );
      const guests = new SimulatedGuests();
      const { outcomes, culprits } = await run(guests, events);
      const good = shown(outcomes).filter((one) => Array.isArray(one));
      expect([ends, place, good.length]).toEqual([ends, place, (EVENTS * 4) / 5]);
      expect(culprits).toHaveLength(EVENTS / 5);
      // One for each culprit, one that served the others, and those that first named none.
      expect(guests.starts).toBeLessThanOrEqual(2 * culprits.length + 2);
    }
  }
});

test("events run one by one once a guest does not know which of them used up the time", async () => {
  const guests = new SimulatedGuests();
  guests.isCulpritUnknown = true;
  const events = mixed((n) => n === 1, 0.1, 4);
  const { outcomes } = await run(guests, events);
  expect(shown(outcomes)).toEqual(expected(events));
  expect(guests.runs.map((one) => one.events)).toEqual([[0, 1, 2, 3], [1], [2], [3]]);
});

test("the other events of a batch stay together once the suspect has run alone", async () => {
  const guests = new SimulatedGuests(1, true);
  const events = mixed((n) => n === 2, 0.1, 6);
  const { outcomes } = await run(guests, events);
  expect(shown(outcomes)).toEqual(expected(events));
  expect(guests.runs.map((one) => one.events)).toEqual([[0, 1, 2, 3, 4, 5], [2], [3, 4, 5]]);
});

test("an event that others delayed is not blamed for their time", async () => {
  // Together they need half as much again as a batch may.
  const events = mixed(() => false, (1.5 * GUEST_CPU_MS_MAX) / EVENTS);
  const { outcomes, culprits } = await run(new SimulatedGuests(), events);
  expect(shown(outcomes)).toEqual(expected(events));
  expect(culprits).toEqual([]);
});

test("an event for which the machine never has time is given up in the end", async () => {
  const guests = new SimulatedGuests(0.001);
  const events = [
    { n: 0, cpuMs: GUEST_CPU_MS_MAX / 2 },
    { n: 1, cpuMs: 0.1 },
  ];
  const { outcomes } = await run(guests, events);
  expect(shown(outcomes)).toEqual([TIMED_OUT, [{ n: 1 }]]);
  expect(guests.runs.length).toBeLessThan(6);
});

/** A trial of a program that has had no event yet, and the errors that it was told. */
function trialOf() {
  const metrics = createSandboxMetrics(new Registry());
  return new ProgramSuspensions(metrics, pino({ enabled: false })).beginTrial(program(""));
}

test.each(shares)(
  "code that never ends is suspended after three events (CPU share %p)",
  async (share) => {
    for (const isPython of [false, true]) {
      const guests = new SimulatedGuests(share, isPython);
      const { outcomes } = await run(
        guests,
        mixed(() => true, 0),
        undefined,
        { trial: trialOf() },
      );
      expect(new Set(shown(outcomes).slice(2, -1)).size).toBe(1);
      expect(shown(outcomes)[2]).toMatch(/^Transformation is suspended for 1 s/);
      // The third one is the last of its batch, as others may be of a kind that the code bears.
      expect(shown(outcomes).filter((one) => one === TIMED_OUT)).toHaveLength(3);
      expect(shown(outcomes).at(-1)).toBe(TIMED_OUT);
      // The first one has its whole time, and on a busy machine what it takes to find that out.
      expect(guests.usedMs).toBeLessThan(2.5 * GUEST_CPU_MS_MAX);
    }
  },
);

test("two events that never end and a good one behind them suspend nothing", async () => {
  for (const share of shares) {
    const events = mixed((n) => n < 2, 0.1);
    const { outcomes } = await run(new SimulatedGuests(share), events, undefined, {
      trial: trialOf(),
    });
    expect(shown(outcomes)).toEqual(expected(events));
  }
});

test("code for which the machine never has time is not suspended", async () => {
  const events = mixed(() => false, GUEST_CPU_MS_MAX / 2, 8);
  const trial = trialOf();
  const { isDoubtful } = await run(new SimulatedGuests(0.01), events, undefined, { trial });
  expect([isDoubtful, trial.suspended(), trial.isSuspect()]).toEqual([true, undefined, false]);
});

test.each([
  // The code of the event is the only one that ran in the guest.
  ["memory", false, false, 1],
  ["violation", false, false, 1],
  // Code that ran before may be to blame.
  ["memory", false, true, 2],
  // The system may have killed the first one.
  ["crash", false, false, 2],
  ["memory", true, false, 4],
  ["crash", true, false, 4],
] as const)(
  "an event that ends its guest by %s (shared %p, warm %p) is blamed for guest number %d",
  async (ends, isShared, isWarm, starts) => {
    const guests = new SimulatedGuests();
    guests.isShared = isShared;
    if (isWarm) guests.warm();
    const { outcomes, culprits } = await run(guests, [{ n: 0, cpuMs: 0.1, ends }]);
    const message = { memory: "at its memory limit", crash: "crashed", violation: "broke into" }[
      ends
    ];
    expect(shown(outcomes)).toEqual([expect.stringContaining(message)]);
    expect([culprits, guests.starts]).toEqual([[ends], starts]);
  },
);

test("events of a batch that fails as a whole run one by one, and only then write their lines", async () => {
  const guests = new SimulatedGuests();
  guests.batchError = "none of them";
  const { outcomes, logs } = await run(
    guests,
    mixed(() => false, 0.1, 3),
    undefined,
    {
      logs: testLogs,
    },
  );
  expect(shown(outcomes)).toEqual([[{ n: 0 }], [{ n: 1 }], [{ n: 2 }]]);
  expect(guests.runs.map(({ events }) => events)).toEqual([[0, 1, 2], [0], [1], [2]]);
  expect(logs).toEqual([0, 1, 2].map((event) => ({ text: "1 events", event })));
});

test("events that have no outcome after the time of a batch get the error of the whole batch", async () => {
  const guests = new SimulatedGuests();
  guests.batchError = "none of them";
  let now = 1;
  const clock = spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  guests.onEvent = () => {
    now += GUEST_CPU_MS_MAX / 2;
  };
  const { outcomes } = await run(
    guests,
    mixed(() => false, 0.1, 4),
  );
  expect(shown(outcomes)).toEqual([[{ n: 0 }], [{ n: 1 }], "none of them", "none of them"]);
});

test("a batch ends early with its first events once their outputs are too many bytes", async () => {
  const outcomesOf = async (bytesMax: number) => {
    const guests = new SimulatedGuests();
    const { outcomes, bytes } = await run(
      guests,
      mixed(() => false, 0, 700),
      undefined,
      {
        bytesMax,
      },
    );
    return [outcomes.length, bytes, guests.runs.length];
  };
  const [all, bytes] = await outcomesOf(1 << 20);
  expect(all).toBe(700);
  // One frame of events, and the rest.
  const [some, bytesOfSome] = await outcomesOf(1);
  expect(some).toBe(500);
  expect(await outcomesOf(bytesOfSome! - 1)).toEqual([500, bytesOfSome!, 1]);
  expect(await outcomesOf(bytesOfSome!)).toEqual([700, bytes!, 2]);
});

test("the rest of a batch is not run once its request has ended, or after many costly events", async () => {
  const given = async (more: object, events: readonly SimulatedEvent[]) => {
    const one = new BatchRun(
      program(""),
      { ...batch(...events), ...more },
      {
        ...{ limits: defaultLimits, logs: noLogs, culpritsMax: 1, bytesMax: 1 << 20 },
        hostFunctions: {},
      },
    );
    const guests = new SimulatedGuests();
    await runBatch(guests, one);
    return { guests, outcomes: shown(one.finish().outcomes) };
  };
  const looping = mixed(() => true, 0, GUEST_CULPRITS_MAX + 2);
  const costly = await given({ costlyUntil: performance.now() }, looping);
  const notRun = `Not run: ${GUEST_CULPRITS_MAX} other events of the request were stopped`;
  const stopped = Array(GUEST_CULPRITS_MAX).fill(TIMED_OUT);
  expect(costly.outcomes).toEqual([...stopped, notRun, notRun]);
  const later = await given({ costlyUntil: performance.now() + 600_000 }, looping);
  expect(later.outcomes).toEqual([...stopped, TIMED_OUT, TIMED_OUT]);
  const ended = await given({ isAwaited: () => false }, looping.slice(0, 1));
  expect(ended.outcomes).toEqual(["Not run: the request has ended"]);
  expect(ended.guests.runs).toEqual([]);
  const awaited = await given(
    { isAwaited: () => true },
    mixed(() => false, 0, 1),
  );
  expect(awaited.outcomes).toEqual([[{ n: 0 }]]);
});
