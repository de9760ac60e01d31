import { afterEach, beforeEach, describe, expect, spyOn, test } from "bun:test";
import type { Guest } from "../../../src/sandbox/process/guest.ts";
import type { GuestEndCause } from "../../../src/sandbox/process/guest-end.ts";
import type { GuestSource } from "../../../src/sandbox/process/guest-source.ts";
import { GuestAdmission } from "../../../src/sandbox/scheduling/guest-admission.ts";
import { GuestLossBackoff } from "../../../src/sandbox/scheduling/guest-loss-backoff.ts";
import type { GuestStarter } from "../../../src/sandbox/scheduling/guest-starter.ts";
import { WorkspaceGuest } from "../../../src/sandbox/scheduling/workspace-guest.ts";
import { holds, until } from "../../until.ts";

let now: number;
let clock: ReturnType<typeof spyOn>;
beforeEach(() => {
  now = 1_000_000;
  clock = spyOn(performance, "now").mockImplementation(() => now);
});
afterEach(() => clock.mockRestore());

/** A guest without a process. It exits when it is told to. */
class FakeGuest {
  dying = false;
  isRetiring = false;
  softTimeouts = 0;
  eventCount = 0;
  isNearMemoryLimit = false;
  memoryBytes = 7;
  cpuDebtMs = 0;
  debtAtStart: number | undefined;
  ended: { end: GuestEndCause } | undefined;
  readonly startedAt = now;
  readonly #exited = Promise.withResolvers<void>();
  get exited() {
    return this.#exited.promise;
  }
  setCpuDebt(ms: number): void {
    this.debtAtStart = ms;
  }
  kill(end: GuestEndCause): void {
    this.dying = true;
    this.exit(end);
  }
  retire(): void {
    this.isRetiring = true;
    this.exit("retired");
  }
  exit(end: GuestEndCause): void {
    this.ended ??= { end };
    this.#exited.resolve();
  }
}

/** Starts guests without processes, and notes the losses that each start was asked with. */
function starterOf() {
  const guests: FakeGuest[] = [];
  const losses: number[] = [];
  const starter = {
    async acquire(_: string, lost: number) {
      losses.push(lost);
      const guest = new FakeGuest();
      guests.push(guest);
      return guest as unknown as Guest;
    },
  } as unknown as GuestStarter;
  return { starter, guests, losses };
}

function workspaceOf({ guestsMax = 2, freeLosses = 1, isSecond = false } = {}) {
  const { starter, guests, losses } = starterOf();
  const admission = new GuestAdmission<WorkspaceGuest>({
    ...{ guestsMax, hasMemory: () => true, isOverMemory: () => false },
  });
  const make = (first?: WorkspaceGuest) =>
    new WorkspaceGuest(starter, admission, "javascript", new GuestLossBackoff(freeLosses), first);
  const first = make();
  return { guests, losses, admission, first, workspace: isSecond ? make(first) : first };
}

/** Does work that asks for a guest, and ends when `end` is called. */
function workOn(workspace: WorkspaceGuest) {
  const ended = Promise.withResolvers<void>();
  const done = Promise.withResolvers<unknown>();
  const state = { guest: undefined as FakeGuest | undefined, source: undefined as unknown };
  workspace.enqueue({
    bytes: 1,
    async perform(source: GuestSource) {
      state.source = source;
      state.guest = (await source.guest()) as unknown as FakeGuest;
      await ended.promise;
      done.resolve("done");
    },
    reject: done.resolve,
  });
  return Object.assign(state, { end: ended.resolve, done: done.promise });
}

/** Does one piece of work to its end; returns the guest that did it. */
async function workOnce(workspace: WorkspaceGuest): Promise<FakeGuest> {
  const work = workOn(workspace);
  await until(() => work.guest);
  work.end();
  await work.done;
  await Bun.sleep(0);
  return work.guest!;
}

describe("the guest of a workspace", () => {
  test("does all its work, and starts once for works that ask at the same time", async () => {
    const { workspace, guests, losses } = workspaceOf();
    const works = [workOn(workspace), workOn(workspace)];
    await until(() => works.every(({ guest }) => guest));
    expect([guests.length, losses]).toEqual([1, [0]]);
    expect(works[1]!.guest).toBe(works[0]!.guest!);
    expect([workspace.memoryBytes, workspace.idleSince]).toEqual([7, undefined]);
    now += 5;
    for (const { end } of works) end();
    await Promise.all(works.map(({ done }) => done));
    await until(() => workspace.idleSince);
    expect(workspace.idleSince).toBe(now);
    expect(await workOnce(workspace)).toBe(guests[0]!);
  });

  const worn: [what: string, wear: (guest: FakeGuest, by: number) => void][] = [
    ["three timeouts", (guest, by) => (guest.softTimeouts = 2 + by)],
    ["a million events", (guest, by) => (guest.eventCount = 999_999 + by)],
    ["most of its memory", (guest, by) => (guest.isNearMemoryLimit = by === 1)],
    ["ten minutes", () => {}],
  ];
  test.each(worn)("is replaced between two works after %s", async (what, wear) => {
    const { workspace, guests } = workspaceOf();
    const begin = now;
    const use = (by: number) => {
      const work = workOn(workspace);
      return until(() => work.guest).then(async (guest) => {
        wear(guest, by);
        if (what === "ten minutes") now = begin + 600_000 + by;
        work.end();
        await work.done;
        await Bun.sleep(0);
        return guest.isRetiring;
      });
    };
    expect(await use(0)).toBe(false);
    expect(await use(1)).toBe(true);
    expect(guests).toHaveLength(1);
    await workOnce(workspace);
    expect(guests).toHaveLength(2);
  });

  test("starts when the one before has exited, and takes over what that one owes", async () => {
    const { workspace, guests } = workspaceOf();
    const begin = now;
    const work = workOn(workspace);
    await until(() => work.guest);
    const [first] = guests;
    first!.dying = true;
    first!.cpuDebtMs = 300;
    const next = (work.source as GuestSource).guest();
    await holds(1, () => expect(guests).toHaveLength(1));
    first!.exit("memory");
    await next;
    expect(guests[1]!.debtAtStart).toBe(300);
    guests[1]!.cpuDebtMs = 100;
    guests[1]!.dying = true;
    guests[1]!.exit("retired");
    await Bun.sleep(1);
    now += 40;
    await (work.source as GuestSource).guest();
    expect(guests.map(({ debtAtStart }) => debtAtStart)).toEqual([-begin, 300, 60]);
    work.end();
  });

  test("that code ended counts as a loss, and one too many delays the next, unless the pool closes", async () => {
    const { workspace, guests, losses } = workspaceOf({ freeLosses: 1 });
    const work = workOn(workspace);
    await until(() => work.guest);
    const source = work.source as GuestSource;
    const lose = async (end: GuestEndCause) => {
      guests.at(-1)!.dying = true;
      guests.at(-1)!.exit(end);
      await Bun.sleep(1);
      return source.guest();
    };
    await lose("retired");
    await lose("crash");
    expect([losses, workspace.isBackingOff, workspace.isForgettable]).toEqual([
      ...[[0, 0, 1], false, false],
    ]);
    const delayed = lose("memory");
    await until(() => workspace.isBackingOff);
    expect(guests).toHaveLength(3);
    workspace.close(new Error("closed"));
    await delayed;
    expect([guests.length, workspace.isBackingOff]).toEqual([4, false]);
    const last = lose("memory");
    await holds(5, () => expect(workspace.isBackingOff).toBe(false));
    await last;
    work.end();
  });
});

describe("a workspace whose guest is evicted", () => {
  test("ends its work first, and enters again for the work behind it", async () => {
    const { workspace, guests } = workspaceOf({ guestsMax: 1 });
    const work = workOn(workspace);
    await until(() => work.guest);
    workspace.evict(false);
    const later = workOn(workspace);
    await holds(1, () => {
      const { isRetiring, dying } = guests[0]!;
      expect([isRetiring, dying, later.guest]).toEqual([false, false, undefined]);
      expect(workspace.idleSince).toBeUndefined();
    });
    work.end();
    await until(() => later.guest);
    expect([guests[0]!.isRetiring, guests.length]).toEqual([true, 2]);
    later.end();
    expect(await later.done).toBe("done");
  });

  test("ends all of its works first", async () => {
    const { workspace, guests } = workspaceOf({ guestsMax: 1 });
    const works = [workOn(workspace), workOn(workspace)];
    await until(() => works.every(({ guest }) => guest));
    workspace.evict(false);
    works[0]!.end();
    await works[0]!.done;
    await holds(1, () => expect(guests[0]!.isRetiring).toBe(false));
    works[1]!.end();
    await until(() => guests[0]!.isRetiring);
  });

  test("is killed at once where memory is short", async () => {
    const { workspace, guests } = workspaceOf();
    const work = workOn(workspace);
    await until(() => work.guest);
    workspace.evict(true);
    expect(guests[0]!.dying).toBe(true);
    work.end();
    await work.done;
    await until(() => workspace.isForgettable);
    workspace.evict(true);
    expect(guests).toHaveLength(1);
  });

  test("without work leaves room for another at once", async () => {
    const { workspace, guests, admission } = workspaceOf({ guestsMax: 1 });
    await workOnce(workspace);
    expect([admission.hasRoom, workspace.isForgettable]).toEqual([false, false]);
    workspace.evict(false);
    await until(() => admission.hasRoom);
    expect([guests[0]!.isRetiring, workspace.isForgettable]).toEqual([true, true]);
  });

  test("leaves by itself when its guest ends while there is no work", async () => {
    const { workspace, guests, admission } = workspaceOf({ guestsMax: 1 });
    await workOnce(workspace);
    guests[0]!.exit("retired");
    await until(() => admission.hasRoom);
    expect([workspace.memoryBytes, workspace.isForgettable]).toEqual([0, true]);
  });

  test("is remembered for as long as the losses of its code count", async () => {
    const { workspace, guests, admission } = workspaceOf({ guestsMax: 1 });
    await workOnce(workspace);
    guests[0]!.exit("crash");
    await until(() => admission.hasRoom);
    expect(workspace.isForgettable).toBe(false);
    now += 9_999;
    expect(workspace.isForgettable).toBe(false);
    now += 1;
    expect(workspace.isForgettable).toBe(true);
  });
});

test("work that asks for no guest leaves room for another workspace", async () => {
  const { workspace, admission } = workspaceOf({ guestsMax: 1 });
  const failed = Promise.withResolvers<unknown>();
  const perform = () => Promise.reject(new Error("no"));
  workspace.enqueue({ bytes: 1, perform, reject: failed.resolve });
  expect(((await failed.promise) as Error).message).toBe("no");
  await until(() => admission.hasRoom && workspace.isForgettable);
});

test("a closed workspace rejects the work that has not begun", async () => {
  const { workspace, admission, first } = workspaceOf({ guestsMax: 1, isSecond: true });
  const running = workOn(first);
  await until(() => running.guest);
  expect([first.isSecond, workspace.isSecond, admission.hasRoom]).toEqual([false, true, false]);
  const waiting = Array.from({ length: 9 }, () => workOn(first));
  const closed = new Error("closed");
  first.close(closed);
  const rejected = await Promise.race([waiting.at(-1)!.done, Bun.sleep(1_000)]);
  expect(rejected).toBe(closed);
  running.end();
  expect(await running.done).toBe("done");
});

test("a second guest takes only free room, and gives its work back when it has to leave", async () => {
  const { workspace: second, first, guests, admission } = workspaceOf({ isSecond: true });
  const own = workOn(first);
  await until(() => own.guest);
  const apart = workOn(second);
  await until(() => apart.guest);
  expect(apart.guest).not.toBe(own.guest!);
  expect([first.isLeaving, second.isLeaving]).toEqual([false, false]);
  second.evict(false);
  first.evict(false);
  expect([first.isLeaving, second.isLeaving]).toEqual([false, true]);
  for (const { end } of [own, apart]) end();
  await until(() => second.isForgettable && first.isForgettable);

  const { workspace: late, first: alone } = workspaceOf({ guestsMax: 1, isSecond: true });
  const taking = workOn(alone);
  await until(() => taking.guest);
  const passed = workOn(late);
  await until(() => passed.guest);
  expect(passed.guest).toBe(taking.guest!);
  for (const { end } of [taking, passed]) end();
  expect([guests.length, admission.waiting]).toEqual([2, 0]);
});
