import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { Registry } from "prom-client";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { TestBudget } from "../../src/sandbox/test-budget.ts";
import {
  batch,
  childProcesses,
  eventually,
  hasty,
  PATIENCE_MS,
  program,
  sandboxWithSpares,
  shown,
} from "./support.ts";

setDefaultTimeout(PATIENCE_MS);

const looping = "export const transformEvent = () => { for (;;); }";
const identity = "export const transformEvent = (event) => event";
const many = batch(...Array.from({ length: 500 }, (_, n) => ({ n })));

const sandbox = sandboxWithSpares({ limits: hasty });
afterAll(() => sandbox.close());

test("one event that loops gives the others of a test little time", async () => {
  const code =
    "export const transformEvent = ({ n }) => { while (n > 2); return n === 1 ? [] : { n } }";
  const using = new TestBudget(undefined, { cpuMs: 60_000, wallMs: 200_000 });
  const { outcomes } = await sandbox.check(
    program(code),
    batch({ n: 1 }, { n: 3 }, { n: 2 }),
    using,
  );
  expect(shown(outcomes)).toEqual([[], "Script execution timed out.", [{ n: 2 }]]);
});

test("the tests of one request end with its CPU time, and say so", async () => {
  const budget = new TestBudget(undefined, { cpuMs: 1_000, wallMs: 200_000 });
  const overBudget = "Stopped: the tests of one request may take 1 s of CPU time together";
  const reports = await Promise.all(
    [0, 1, 2].map(() => sandbox.check(program(looping), many, budget)),
  );
  // When the others have used up the CPU time, a program is not loaded, and its report has an
  // error.
  const notLoaded = reports.filter(({ error }) => error !== undefined);
  for (const report of notLoaded) expect(report.error?.message).toBe(overBudget);
  expect(notLoaded.length).toBeLessThan(3);
  for (const { outcomes } of reports.filter((report) => !notLoaded.includes(report))) {
    const texts = shown(outcomes);
    expect(texts).toHaveLength(500);
    expect(new Set(texts)).toContain(overBudget);
    expect(
      texts.every((text) => text === overBudget || text === "Script execution timed out."),
    ).toBe(true);
  }
  const later = await sandbox.check(program(identity), batch({}), budget);
  expect(shown(later.outcomes)).toEqual([overBudget]);
  const inspected = await sandbox.inspect("w1", "javascript", "", budget);
  expect(inspected).toEqual({ imports: [], error: { message: overBudget } });
});

test("tests that sleep end by the clock", async () => {
  const sleeping = sandboxWithSpares({ fetch: () => new Promise(() => {}) });
  const code = "export const transformEvent = async () => fetch('https://example.com')";
  // A guest starts within this time on a busy machine too.
  const budget = new TestBudget(undefined, { cpuMs: 60_000, wallMs: 5_000 });
  const { outcomes } = await sleeping.check(program(code), batch({}), budget);
  expect(shown(outcomes)).toEqual(["Stopped: the tests came no further for 5 s"]);
  await sleeping.close();
});

test("guests end and waiting tests give up when the caller hangs up", async () => {
  const crowded = sandboxWithSpares({ limits: { throwAwaysOfWorkspace: 1 } });
  const before = new Set(childProcesses());
  const own = () => childProcesses().filter((pid) => !before.has(pid)).length;
  await crowded.check(program(identity), batch({}));
  // The spare.
  await eventually(() => own() === 1);
  const caller = new AbortController();
  using budget = new TestBudget(caller.signal);
  const under = [0, 1].map(() => crowded.check(program(looping), many, budget));
  await eventually(() => own() === 2);
  await Bun.sleep(100);
  caller.abort();
  const [first, second] = await Promise.allSettled(under);
  expect(shown(Reflect.get(first!, "value").outcomes)[0]).toBe("Stopped: the caller hung up");
  expect(Reflect.get(second!, "reason")).toBeInstanceOf(SandboxUnavailable);
  await eventually(() => own() === 1);
  // The place is free again.
  expect(shown((await crowded.check(program(identity), batch({}))).outcomes)).toEqual([[{}]]);
  await crowded.close();
});

test("tests of one workspace leave places to those of another", async () => {
  const crowded = sandboxWithSpares({
    limits: { throwAways: 3, throwAwaysOfWorkspace: 2 },
  });
  const caller = new AbortController();
  using budget = new TestBudget(caller.signal);
  const greedy = Array.from({ length: 10 }, () => crowded.check(program(looping), many, budget));
  const other = await crowded.check(program(identity, { workspaceId: "other" }), batch({ n: 1 }));
  expect(shown(other.outcomes)).toEqual([[{ n: 1 }]]);
  caller.abort();
  await Promise.allSettled(greedy);
  await crowded.close();
});

test("tests are no culprits of live code, and suspend nothing", async () => {
  const metrics = new Registry();
  const hasty = sandboxWithSpares({ metrics, limits: { cpuMs: 100 } });
  const culprits = async () =>
    /^pixelmill_program_culprits_total\{cause="timeout"\} (\d+)$/m.exec(await metrics.metrics());
  const bad = program(looping);
  for (let n = 0; n < 6; n += 1) await hasty.check(bad, batch({}));
  expect((await culprits())?.[1]).toBe("0");
  expect(hasty.suspended()).toEqual([]);
  await hasty.run(bad, batch({}));
  expect((await culprits())?.[1]).toBe("1");
  await hasty.close();
});

test("a test whose every event loops ends with its CPU time", async () => {
  // A busy machine may need more than 100 ms of CPU time to load the program.
  const whole = sandboxWithSpares({ limits: { cpuMs: 300 } });
  using budget = new TestBudget(undefined, { cpuMs: 1_000, wallMs: 200_000 });
  const { outcomes } = await whole.check(program(looping), many, budget);
  const texts = shown(outcomes);
  expect(texts[0]).toBe("Script execution timed out.");
  expect(texts.at(-1)).toBe("Stopped: the tests of one request may take 1 s of CPU time together");
  await whole.close();
});
