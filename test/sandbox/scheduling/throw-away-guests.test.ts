import { beforeEach, expect, test } from "bun:test";
import { Permit } from "../../../src/concurrency/permit.ts";
import type { Guest } from "../../../src/sandbox/process/guest.ts";
import { SandboxUnavailable } from "../../../src/sandbox/sandbox.ts";
import type { GuestStarter } from "../../../src/sandbox/scheduling/guest-starter.ts";
import { ThrowAwayGuests } from "../../../src/sandbox/scheduling/throw-away-guests.ts";
import { TestBudget } from "../../../src/sandbox/test-budget.ts";

/** A guest without a process of its own: its CPU time is that of this process. */
class FakeGuest {
  dying = false;
  readonly pid = process.pid;
  readonly kills: string[] = [];
  kill(cause: string): void {
    this.dying = true;
    this.kills.push(cause);
  }
}

let asked: [language: string, losses: number][];
let starts: PromiseWithResolvers<Guest>[];
let isReleased: boolean;
beforeEach(() => {
  asked = [];
  starts = [];
  isReleased = false;
});

/** Guests for one test; they start when `started` is called. */
function guestsOf(budget: TestBudget) {
  const starter = {
    acquire(language: string, losses: number) {
      asked.push([language, losses]);
      starts.push(Promise.withResolvers<Guest>());
      return starts.at(-1)!.promise;
    },
  } as unknown as GuestStarter;
  const permit = new Permit(() => {
    isReleased = true;
  });
  return new ThrowAwayGuests(starter, "python", budget, permit);
}

async function started(guests: ThrowAwayGuests): Promise<FakeGuest> {
  const starting = guests.guest();
  const guest = new FakeGuest();
  starts.at(-1)?.resolve(guest as unknown as Guest);
  return (await starting) as unknown as FakeGuest;
}

/** Uses CPU time in this process. */
function compute(ms: number): void {
  const begin = process.cpuUsage();
  for (;;) {
    const { user, system } = process.cpuUsage(begin);
    if (user + system >= ms * 1_000) return;
  }
}

test("a test keeps its guest, and gets another one when it has ended that", async () => {
  using budget = new TestBudget();
  const guests = guestsOf(budget);
  expect(guests.isAlive).toBe(false);
  const first = await started(guests);
  expect(guests.isAlive).toBe(true);
  expect(await guests.guest()).toBe(first as never);
  first.dying = true;
  expect(guests.isAlive).toBe(false);
  const second = await started(guests);
  expect(second).not.toBe(first);
  expect(asked).toEqual([
    ["python", 0],
    ["python", 1],
  ]);
  guests[Symbol.dispose]();
  expect([first.kills, second.kills, isReleased]).toEqual([[], ["retired"], true]);
});

test("a guest is charged for its CPU time beyond that of its start, once", async () => {
  using budget = new TestBudget();
  const charged: number[] = [];
  budget.charge = (ms) => void charged.push(ms);
  const guests = guestsOf(budget);
  await started(guests);
  compute(60);
  guests[Symbol.dispose]();
  const sum = charged.reduce((total, ms) => total + ms, 0);
  // The clock of the kernel has steps of 10 ms, and 20 ms are free.
  expect(sum).toBeGreaterThanOrEqual(20);
  expect(sum).toBeLessThan(process.cpuUsage().user / 1_000);
  expect(Math.min(...charged)).toBeGreaterThan(0);
});

test("a guest ends with its budget, in the way that the budget says", async () => {
  const ends: [end: (budget: TestBudget) => void, cause: string][] = [
    [(budget) => budget.charge(1e9), "timeout"],
    [() => caller.abort(), "retired"],
  ];
  const caller = new AbortController();
  for (const [end, cause] of ends) {
    using budget = new TestBudget(caller.signal);
    const guests = guestsOf(budget);
    const guest = await started(guests);
    end(budget);
    expect(guest.kills).toEqual([cause]);
    guests[Symbol.dispose]();
  }
  using budget = new TestBudget();
  const guests = guestsOf(budget);
  const guest = await started(guests);
  guests[Symbol.dispose]();
  budget.charge(1e9);
  expect(guest.kills).toEqual(["retired"]);
});

test("a guest that starts after the end of its budget is not used, but ended", async () => {
  using budget = new TestBudget();
  const guests = guestsOf(budget);
  const starting = guests.guest();
  budget.charge(1e9);
  await expect(starting).rejects.toThrow(SandboxUnavailable);
  await expect(guests.guest()).rejects.toThrow("of CPU time together");
  const late = new FakeGuest();
  for (const start of starts) start.resolve(late as unknown as Guest);
  await Bun.sleep(0);
  expect(new Set(late.kills)).toEqual(new Set(["retired"]));
  expect(guests.isAlive).toBe(false);
  guests[Symbol.dispose]();
});

test("a guest that does not start is an error of the start", async () => {
  using budget = new TestBudget();
  const guests = guestsOf(budget);
  const starting = guests.guest();
  starts[0]!.reject(new Error("no process"));
  await expect(starting).rejects.toThrow("no process");
  guests[Symbol.dispose]();
  expect(isReleased).toBe(true);
});
