import { afterEach, beforeEach, describe, expect, jest, spyOn, test } from "bun:test";
import { defaultLimits, type SandboxLimits } from "../../../src/sandbox/limits.ts";
import type { GuestEndCause } from "../../../src/sandbox/process/guest-end.ts";
import type { GuestSource } from "../../../src/sandbox/process/guest-source.ts";
import { SandboxUnavailable } from "../../../src/sandbox/sandbox.ts";
import { GuestPool } from "../../../src/sandbox/scheduling/guest-pool.ts";
import { TestBudget } from "../../../src/sandbox/test-budget.ts";
import { GUEST_IDLE_MS_MAX } from "../../../src/settings/limits.ts";

/** What a pool decides about its guests, which are doubles without processes. */

const MIB = 1 << 20;

let now: number;
let clock: ReturnType<typeof spyOn>;
beforeEach(() => {
  jest.useFakeTimers();
  now = 1_000_000;
  clock = spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => {
  clock.mockRestore();
  jest.useRealTimers();
});

class FakeGuest {
  // No process has this id.
  readonly pid = -1;
  readonly language: string;
  readonly startedAt = now;
  dying = false;
  isRetiring = false;
  softTimeouts = 0;
  eventCount = 0;
  isNearMemoryLimit = false;
  memoryBytes = 7;
  cpuDebtMs = 0;
  ended: { end: GuestEndCause } | undefined;
  readonly #exited = Promise.withResolvers<void>();
  readonly exited = this.#exited.promise;

  constructor(language: string) {
    this.language = language;
  }

  setCpuDebt(): void {}

  kill(end: GuestEndCause): void {
    this.dying = true;
    this.ended ??= { end };
    this.#exited.resolve();
  }

  retire(): void {
    this.isRetiring = true;
    this.kill("retired");
  }
}

function poolOf(limits: Partial<SandboxLimits> = {}) {
  const starter = {
    memoryBytes: 0,
    onWatch() {},
    acquire: async (language: string) => new FakeGuest(language),
  };
  const bounds = { guests: 2, memoryBytes: 100 * MIB, throwAways: 1, throwAwaysOfWorkspace: 1 };
  const pool = new GuestPool(starter as never, { ...defaultLimits, ...bounds, ...limits });
  const guestOf = async (source: GuestSource) => (await source.guest()) as unknown as FakeGuest;
  const use = (workspace: string, language: "javascript" | "python" = "javascript") =>
    pool.use({ workspaceId: workspace, language }, 1, guestOf);
  const hold = (workspace: string, how: "use" | "useSecond" = "use") => {
    const end = Promise.withResolvers<void>();
    const done = pool[how](
      { workspaceId: workspace, language: "javascript" },
      1,
      async (source) => {
        const guest = await guestOf(source);
        await end.promise;
        return guest;
      },
    );
    return { end: end.resolve, done };
  };
  return { starter, pool, guestOf, use, hold };
}

/** Lets all promises that can settle without time do so. */
async function settle(): Promise<void> {
  for (let round = 0; round < 20; round += 1) await Promise.resolve();
}

describe("a pool", () => {
  test("has a guest for each pair of workspace and language, which serves no other", async () => {
    const { pool, use } = poolOf({ guests: 3 });
    const guests = [await use("a"), await use("a"), await use("a", "python"), await use("b")];
    expect(guests[1]).toBe(guests[0]!);
    expect(new Set(guests).size).toBe(3);
    expect(guests.map(({ language }) => language)).toEqual([
      ...["javascript", "javascript", "python", "javascript"],
    ]);
    pool.close();
  });

  test("has a second guest of a workspace where there is room, and else does its work in the first", async () => {
    const { pool, hold } = poolOf();
    const [first, second] = [hold("a"), hold("a", "useSecond")];
    await settle();
    const third = hold("b");
    for (const { end } of [first, second, third]) end();
    expect(await second.done).not.toBe(await first.done);
    await third.done;
    pool.close();
    const crowded = poolOf({ guests: 1 });
    const [only, rest] = [crowded.hold("a"), crowded.hold("a", "useSecond")];
    only.end();
    rest.end();
    expect(await rest.done).toBe(await only.done);
    crowded.pool.close();
  });

  test("starts another guest only while 16 MiB are left for it, and counts those that wait", async () => {
    for (const [used, waiting] of [
      [84 * MIB, 0],
      [84 * MIB + 1, 1],
    ] as const) {
      const { pool, starter, hold } = poolOf();
      const first = hold("a");
      await settle();
      starter.memoryBytes = used;
      const second = hold("b");
      expect(pool.waitingCount).toBe(waiting);
      for (const { end } of [first, second]) end();
      starter.memoryBytes = 0;
      await Promise.all([first.done, second.done]);
      pool.close();
    }
  });

  test("ends a guest when they have more memory together than they may", async () => {
    const { pool, starter, use } = poolOf();
    const guest = await use("a");
    await settle();
    starter.memoryBytes = 100 * MIB;
    starter.onWatch();
    expect(guest.dying).toBe(false);
    starter.memoryBytes += 1;
    starter.onWatch();
    expect(guest.ended).toEqual({ end: "retired" });
    pool.close();
  });

  test("ends guests that had no work for a minute, and no others", async () => {
    const { pool, use, hold } = poolOf();
    const idle = await use("a");
    const busy = hold("b");
    await settle();
    now += GUEST_IDLE_MS_MAX;
    jest.advanceTimersByTime(5_000);
    expect(idle.dying).toBe(false);
    now += 1;
    jest.advanceTimersByTime(5_000);
    expect(idle.isRetiring).toBe(true);
    busy.end();
    expect((await busy.done).dying).toBe(false);
    await settle();
    expect(await use("a")).not.toBe(idle);
    pool.close();
  });

  test("counts the workspaces that wait because their code has ended guests", async () => {
    const { pool, use } = poolOf({ freeLosses: 0 });
    const guest = await use("a");
    guest.kill("crash");
    await settle();
    const next = use("a");
    await settle();
    expect(pool.backingOffCount).toBe(1);
    jest.advanceTimersByTime(100);
    expect(await next).not.toBe(guest);
    expect(pool.backingOffCount).toBe(0);
    pool.close();
  });

  test("that is closed ends the delay after the ends of guests, and leaves no timer", async () => {
    const { pool, use } = poolOf({ freeLosses: 0 });
    (await use("a")).kill("crash");
    await settle();
    const next = use("a");
    await settle();
    expect(pool.backingOffCount).toBe(1);
    pool.close();
    await next;
    expect([pool.backingOffCount, jest.getTimerCount()]).toEqual([0, 0]);
  });

  test("that is closed rejects the work that waits for a guest", async () => {
    const { pool, hold } = poolOf({ guests: 1 });
    const [first, second] = [hold("a"), hold("b")];
    await settle();
    pool.close();
    await expect(second.done).rejects.toEqual(new SandboxUnavailable("Sandbox is closed"));
    first.end();
    await first.done;
  });
});

describe("guests for tests", () => {
  test("end after their work, and one that only parsed with its budget", async () => {
    const { pool, guestOf } = poolOf();
    const budget = new TestBudget();
    const parse = () =>
      pool.parseInThrowAway({ workspaceId: "a", language: "javascript" }, budget, guestOf);
    const parsed = await parse();
    expect(parsed.dying).toBe(false);
    expect(await parse()).toBe(parsed);
    const tested = await pool.useThrowAway(
      { workspaceId: "a", language: "javascript" },
      budget,
      guestOf,
    );
    expect(tested).toBe(parsed);
    expect(tested.ended).toEqual({ end: "retired" });
    const last = await parse();
    expect(last).not.toBe(parsed);
    budget[Symbol.dispose]();
    expect(last.dying).toBe(true);
    pool.close();
  });

  test("of another language, or after one that has ended, are new", async () => {
    const { pool, guestOf } = poolOf();
    using budget = new TestBudget();
    const parse = (language: "javascript" | "python") =>
      pool.parseInThrowAway({ workspaceId: "a", language }, budget, guestOf);
    const first = await parse("javascript");
    const second = await parse("python");
    expect([first.dying, second.language]).toEqual([true, "python"]);
    second.kill("crash");
    expect(await parse("python")).not.toBe(second);
    pool.close();
  });

  test("that have ended, or of which the request has one already, give their place back", async () => {
    const { pool, guestOf } = poolOf({ throwAways: 2, throwAwaysOfWorkspace: 2 });
    using budget = new TestBudget();
    const parse = (work: (guest: FakeGuest) => void = () => {}) =>
      pool.parseInThrowAway(
        { workspaceId: "a", language: "javascript" },
        budget,
        async (source) => {
          const guest = await guestOf(source);
          work(guest);
          return guest;
        },
      );
    const [first, second] = await Promise.all([parse(), parse()]);
    expect([first.dying, second.dying]).toEqual([false, true]);
    const crash = (guest: FakeGuest) => guest.kill("crash");
    for (let times = 0; times < 3; times += 1) await parse(crash);
    const [third, fourth] = await Promise.all([parse(), parse()]);
    expect([third.dying, fourth.dying]).toEqual([false, true]);
    pool.close();
  });

  test("are as many as they may be, of which each workspace has its share", async () => {
    const { pool, guestOf } = poolOf({ throwAways: 2, throwAwaysOfWorkspace: 1 });
    using budget = new TestBudget();
    const ends = Promise.withResolvers<void>();
    const run = (workspace: string, own = budget) => {
      let isRunning = false;
      const done = pool.useThrowAway(
        { workspaceId: workspace, language: "javascript" },
        own,
        async (source) => {
          isRunning = true;
          await guestOf(source);
          await ends.promise;
        },
      );
      return { done, isRunning: () => isRunning };
    };
    using over = new TestBudget();
    const runs = [run("a"), run("a"), run("b"), run("c")];
    const late = run("d", over);
    await settle();
    expect(runs.map(({ isRunning }) => isRunning())).toEqual([true, false, true, false]);
    over.charge(Number.POSITIVE_INFINITY);
    await expect(late.done).rejects.toEqual(new SandboxUnavailable(over.error!.message));
    ends.resolve();
    await Promise.all(runs.map(({ done }) => done));
    pool.close();
  });
});
