import { beforeEach, expect, test } from "bun:test";
import { Permit } from "../../../src/concurrency/permit.ts";
import { GUEST_MEMORY_POLL_MS } from "../../../src/sandbox/guest-limits.ts";
import type { Guest } from "../../../src/sandbox/process/guest.ts";
import { SandboxUnavailable } from "../../../src/sandbox/sandbox.ts";
import type { GuestStarter } from "../../../src/sandbox/scheduling/guest-starter.ts";
import { ThrowAwayGuests } from "../../../src/sandbox/scheduling/throw-away-guests.ts";
import { TestBudget } from "../../../src/sandbox/test-budget.ts";
import { holds, until } from "../../until.ts";

/** A guest without a process. */
class FakeGuest {
  dying = false;
  readonly pid = 1;
  readonly kills: string[] = [];
  kill(cause: string): void {
    this.dying = true;
    this.kills.push(cause);
  }
}

let asked: [language: string, losses: number][];
let starts: PromiseWithResolvers<Guest>[];
let isReleased: boolean;
/** CPU time in ms that the guest has used, also for its start; undefined once it has ended. */
let cpuMs: number | undefined;
beforeEach(() => {
  cpuMs = 70;
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
  const none = { residentBytes: 0, anonymousBytes: 0, threads: 1, mainCpuMs: 0 };
  const read = () => (cpuMs === undefined ? undefined : { ...none, cpuMs });
  return new ThrowAwayGuests(starter, "python", budget, permit, read);
}

async function started(guests: ThrowAwayGuests): Promise<FakeGuest> {
  const starting = guests.guest();
  const guest = new FakeGuest();
  starts.at(-1)?.resolve(guest as unknown as Guest);
  return (await starting) as unknown as FakeGuest;
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

test("a guest is charged once for its CPU time beyond that of its start, of which some is free", async () => {
  using budget = new TestBudget();
  const charged: number[] = [];
  budget.charge = (ms) => void charged.push(ms);
  const guests = guestsOf(budget);
  const first = await started(guests);
  cpuMs = 70 + 20;
  await holds(2 * GUEST_MEMORY_POLL_MS, () => expect(charged).toEqual([]));
  cpuMs += 30;
  await until(() => charged.length > 0);
  cpuMs += 5;
  await until(() => charged.length > 1);
  first.dying = true;
  cpuMs = 40;
  await started(guests);
  cpuMs = 40 + 20 + 7;
  guests[Symbol.dispose]();
  expect(charged).toEqual([30, 5, 7]);
});

test("a guest that has ended by itself is charged for nothing more", async () => {
  using budget = new TestBudget();
  const charged: number[] = [];
  budget.charge = (ms) => void charged.push(ms);
  const guests = guestsOf(budget);
  await started(guests);
  cpuMs = undefined;
  guests[Symbol.dispose]();
  expect(charged).toEqual([]);
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
