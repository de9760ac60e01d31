import { beforeEach, expect, test } from "bun:test";
import { AttemptBudget } from "../../../src/sandbox/batch/attempt-budget.ts";
import {
  isResponsive,
  loadProgram,
  unloadProgram,
  unloadPrograms,
} from "../../../src/sandbox/batch/load-program.ts";
import { defaultLimits } from "../../../src/sandbox/limits.ts";
import type { Guest } from "../../../src/sandbox/process/guest.ts";
import type { ExchangeLimits } from "../../../src/sandbox/process/guest-channel.ts";
import { GuestEndedError } from "../../../src/sandbox/process/guest-end.ts";
import type { Program } from "../../../src/sandbox/program.ts";
import type { LoadFailure, LoadRequest } from "../../../src/sandbox/protocol/guest-protocol.ts";

/** A guest without a process, which has room for two programs. */
class FakeGuest {
  readonly programs = new Map<string, number>();
  readonly loads = new Map<string, Promise<unknown>>();
  readonly unloadedPrograms: number[] = [];
  readonly programsMax = 2;
  readonly asked: { header: LoadRequest; limits: ExchangeLimits }[] = [];
  answer: () => Promise<LoadFailure | undefined> = async () => undefined;
  #last = 0;
  assign(): void {}
  nextProgramNumber(): number {
    this.#last += 1;
    return this.#last;
  }
  request(header: LoadRequest, _: unknown, limits: ExchangeLimits) {
    this.asked.push({ header, limits });
    return this.answer();
  }
}

let fake: FakeGuest;
let guest: Guest;
beforeEach(() => {
  fake = new FakeGuest();
  guest = fake as unknown as Guest;
});

const programOf = (id: string): Program => ({
  ...{ id, workspaceId: "w", language: "javascript", name: `T ${id}`, code: `code of ${id}` },
  ...{ libraries: [], credentials: { key: "secret" } },
});
const meter = { charge() {} } as never;

function load(id: string) {
  const budget = new AttemptBudget(defaultLimits, 1);
  return loadProgram(guest, programOf(id), defaultLimits, budget, { meter });
}

test("a program is loaded once, also by two batches at once, with the time of an attempt", async () => {
  expect(await Promise.all([load("a"), load("a")])).toEqual([1, 1]);
  expect(await load("a")).toBe(1);
  const budget = new AttemptBudget(defaultLimits, 1);
  expect(fake.asked).toMatchObject([
    {
      header: {
        ...{ kind: "load", program: 1, name: "T a", code: "code of a", drop: [] },
        ...{ credentials: { key: "secret" }, budgetMs: budget.clockMs },
      },
      limits: { cpuMs: budget.loadKillMs, wallMs: defaultLimits.wallMs, meter },
    },
  ]);
  expect(fake.loads.size).toBe(0);
});

test("the program that was used longest ago makes room for another one", async () => {
  for (const id of ["a", "b", "a", "c"]) await load(id);
  expect(fake.asked.map(({ header }) => header.drop)).toEqual([[], [], [2]]);
  expect([...fake.programs.keys()]).toEqual(["a", "c"]);
  unloadPrograms(guest);
  await load("d");
  expect(fake.asked.at(-1)!.header.drop).toEqual([1, 3]);
  await load("e");
  expect(fake.asked.at(-1)!.header.drop).toEqual([]);
});

test("programs that are loaded at the same time all find room", async () => {
  for (const id of ["a", "b"]) await load(id);
  await Promise.all([load("c"), load("d")]);
  expect(fake.asked.map(({ header }) => header.drop)).toEqual([[], [], [1], [2]]);
  expect([...fake.programs.keys()]).toEqual(["c", "d"]);
});

test("a program that was stopped is loaded again, unless it has been already", async () => {
  await load("a");
  unloadProgram(guest, programOf("a"), 1);
  unloadProgram(guest, programOf("b"), 1);
  expect(await load("a")).toBe(2);
  expect(fake.asked.at(-1)!.header.drop).toEqual([1]);
  unloadProgram(guest, programOf("a"), 1);
  expect(await load("a")).toBe(2);
});

test("a program that does not load is tried again by the next batch", async () => {
  const failure = { error: { message: "no" } };
  fake.answer = async () => failure;
  expect(await load("a")).toBe(failure);
  fake.answer = () => Promise.reject(new GuestEndedError("memory"));
  await expect(load("a")).rejects.toThrow("Guest ended: memory");
  fake.answer = async () => undefined;
  expect(await load("a")).toBe(3);
});

test("a guest is responsive if it answers, and a defect of the server says nothing of it", async () => {
  expect(await isResponsive(guest, defaultLimits)).toBe(true);
  const { cpuMs, wallMs } = defaultLimits;
  expect(fake.asked).toMatchObject([
    { header: { kind: "inspect", code: "" }, limits: { cpuMs, wallMs } },
  ]);
  fake.answer = () => Promise.reject(new GuestEndedError("timeout"));
  expect(await isResponsive(guest, defaultLimits)).toBe(false);
  fake.answer = () => Promise.reject(new TypeError("a defect"));
  await expect(isResponsive(guest, defaultLimits)).rejects.toThrow("a defect");
});
