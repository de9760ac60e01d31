import { describe, expect, test } from "bun:test";
import { createCodeChecks } from "../../src/sandbox/code-checks.ts";
import { defaultLimits } from "../../src/sandbox/limits.ts";
import { GuestEndedError } from "../../src/sandbox/process/guest-end.ts";
import type { GuestSource } from "../../src/sandbox/process/guest-source.ts";
import type { GuestOwner } from "../../src/sandbox/program.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import type { GuestPool } from "../../src/sandbox/scheduling/guest-pool.ts";
import { TestBudget } from "../../src/sandbox/test-budget.ts";
import { TEST_OUTPUT_BYTES_MAX } from "../../src/settings/limits.ts";
import { ENDLESS, SimulatedGuests } from "./batch/simulated-guests.ts";
import { batch, program, shown } from "./support.ts";

/** Checks with a pool that gives these guests, or has none for the reason `unavailable`. */
function checksOf(source: GuestSource, unavailable?: (budget: TestBudget) => Error) {
  const budgets: TestBudget[] = [];
  const use = async (
    _: GuestOwner,
    budget: TestBudget,
    work: (from: GuestSource) => Promise<unknown>,
  ) => {
    budgets.push(budget);
    if (unavailable !== undefined) throw unavailable(budget);
    return work(source);
  };
  const pool = { useThrowAway: use, parseInThrowAway: use } as unknown as GuestPool;
  return { ...createCodeChecks(pool, defaultLimits, {}), budgets };
}

/** A guest that answers requests with these replies, one after the other. */
function answering(...replies: (object | Error)[]) {
  const requests: { kind: string; budgetMs?: number; cpuMs: number }[] = [];
  const guest = {
    assign() {},
    async request(header: any, _: unknown, { cpuMs }: { cpuMs: number }, parse: any) {
      requests.push({ kind: header.kind, budgetMs: header.budgetMs, cpuMs });
      const reply = replies.shift();
      if (reply instanceof Error) throw reply;
      return parse({ header: reply, body: Buffer.alloc(0) });
    },
  };
  const source = { isLeaving: false, guest: () => guest } as unknown as GuestSource;
  return { source, requests };
}

const spend = (budget: TestBudget) => {
  budget.charge(1e9);
  return new SandboxUnavailable("over");
};
const SPENT = expect.stringContaining("of CPU time together");
const event = (n: number) => ({ n, cpuMs: 0.1 });

describe("test events", () => {
  test("of each batch meet the program as it was loaded", async () => {
    const guests = new SimulatedGuests();
    const reports = await checksOf(guests).checkAll(program(""), [
      batch(event(0), event(1)),
      batch(event(2)),
    ]);
    expect(reports.map(({ outcomes }) => shown(outcomes))).toEqual([
      [[{ n: 0 }], [{ n: 1 }]],
      [[{ n: 2 }]],
    ]);
    expect(guests.loads).toEqual([
      { program: 1, drop: [] },
      { program: 2, drop: [1] },
    ]);
    const { outcomes } = await checksOf(guests).check(program(""), batch(event(3)));
    expect(shown(outcomes)).toEqual([[{ n: 3 }]]);
  });

  test("are not run by a program that does not load, which is tried once", async () => {
    const guests = new SimulatedGuests(1, true);
    guests.loadMs = ENDLESS;
    const two = [batch(event(0)), batch(event(1))];
    const reports = await checksOf(guests).checkAll(program(""), two);
    const failed = { error: { message: "Script execution timed out." }, outcomes: [], logs: [] };
    expect(reports).toEqual([failed, failed]);
    expect(guests.loads).toHaveLength(1);
  });

  test("after the outputs of a request have taken their room are refused", async () => {
    using budget = new TestBudget();
    const guests = new SimulatedGuests();
    const message = `Outputs of the tests of one request may be ${TEST_OUTPUT_BYTES_MAX} bytes together`;
    budget.holdOutput(TEST_OUTPUT_BYTES_MAX - 1);
    const many = batch(...Array.from({ length: 600 }, (_, n) => event(n)));
    const [first, second] = await checksOf(guests).checkAll(program(""), [many, many], budget);
    const texts = (report: typeof first) => shown(report!.outcomes).map((it) => JSON.stringify(it));
    expect(texts(first).slice(498, 501)).toEqual(['[{"n":498}]', '[{"n":499}]', `"${message}"`]);
    expect(first!.outcomes).toHaveLength(600);
    expect(new Set(texts(second))).toEqual(new Set([`"${message}"`]));
    expect([second!.outcomes.length, budget.outputBytesLeft]).toEqual([600, 0]);
  });

  test("that find the CPU time of their request used up have its error; any other want is thrown", async () => {
    const guests = new SimulatedGuests();
    const spent = await checksOf(guests, spend).checkAll(program(""), [batch(event(0))]);
    expect(spent).toEqual([{ outcomes: [{ error: { message: SPENT } }], logs: [] }]);
    for (const error of [new SandboxUnavailable("no guests"), new Error("fault")]) {
      const check = checksOf(guests, () => error).check(program(""), batch(event(0)));
      await expect(check).rejects.toBe(error);
    }
    const fault = new Error("fault");
    const faulty = checksOf(guests, (budget) => {
      spend(budget);
      return fault;
    });
    await expect(faulty.check(program(""), batch(event(0)))).rejects.toBe(fault);
  });

  test("end in the middle when the request has used up its CPU time", async () => {
    using budget = new TestBudget();
    const guests = new SimulatedGuests();
    guests.onEvent = (n) => n === 1 && budget.charge(1e9);
    const all = [batch(event(0)), batch(event(1)), batch(event(2))];
    const reports = await checksOf(guests).checkAll(program(""), all, budget);
    expect(reports.map(({ outcomes }) => shown(outcomes))).toEqual([
      [[{ n: 0 }]],
      [[{ n: 1 }]],
      [SPENT],
    ]);
    expect(guests.runs).toHaveLength(2);
  });
});

describe("code that is inspected", () => {
  const inspected = (...replies: (object | Error)[]) =>
    checksOf(answering(...replies).source).inspect("w1", "javascript", "code");

  test("has imports, or an error", async () => {
    expect(await inspected({ kind: "inspected", imports: ["a"] })).toEqual({ imports: ["a"] });
    const error = { message: "SyntaxError" };
    expect(await inspected({ kind: "inspected", imports: [], error })).toEqual({
      ...{ imports: [], error },
    });
  });

  test("is to blame for the end of its guest, unless the request is over", async () => {
    expect(await inspected(new GuestEndedError("timeout"))).toEqual({
      ...{ imports: [], error: { message: "Script execution timed out." } },
    });
    await expect(inspected(new Error("fault"))).rejects.toThrow("fault");
    using budget = new TestBudget();
    budget.charge(1e9);
    const { source } = answering(new GuestEndedError("timeout"));
    const over = await checksOf(source).inspect("w1", "python", "code", budget);
    expect(over).toEqual({ imports: [], error: { message: SPENT } });
    const { inspect, budgets } = checksOf(source, spend);
    expect(await inspect("w1", "python", "code")).toEqual(over);
    // A budget of its own holds nothing afterwards.
    let isReleased = false;
    budgets[0]!.onDispose(() => {
      isReleased = true;
    });
    expect(isReleased).toBe(true);
  });
});

describe("a library", () => {
  const library = { importName: "lib", versionId: "v", code: "code" };
  const checked = async (...replies: (object | Error)[]) => {
    const { source, requests } = answering(...replies);
    const error = await checksOf(source).checkLibrary("w1", "python", library, []);
    return { error, requests };
  };
  const { cpuMs } = defaultLimits;
  const error = { message: "no" };

  test("is valid, or has an error", async () => {
    const valid = await checked({ kind: "loaded" });
    expect(valid).toEqual({
      error: undefined,
      requests: [{ kind: "library", budgetMs: cpuMs, cpuMs }],
    });
    expect((await checked({ kind: "loaded", error })).error).toEqual(error);
    expect((await checked(new GuestEndedError("memory"))).error).toEqual({
      message: expect.stringContaining("memory limit"),
    });
  });

  test("is loaded again with more time if the machine was too busy", async () => {
    const busy = { kind: "loaded", error, usedMs: cpuMs / 2 };
    const { error: none, requests } = await checked(busy, { kind: "loaded" });
    expect(none).toBeUndefined();
    expect(requests.map(({ budgetMs }) => budgetMs! / cpuMs)).toEqual([1, expect.closeTo(2.2)]);
    expect(requests[1]!.cpuMs).toBe(2 * cpuMs);
    const used = { ...busy, usedMs: cpuMs };
    expect((await checked(busy, used)).error).toEqual(error);
  });

  test("that finds the CPU time of its request used up has that error", async () => {
    const { source } = answering();
    const checks = checksOf(source, spend);
    expect(await checks.checkLibrary("w1", "python", library, [])).toEqual({ message: SPENT });
  });
});
