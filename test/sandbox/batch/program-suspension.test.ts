import { afterAll, beforeEach, expect, setDefaultTimeout, setSystemTime, test } from "bun:test";
import { pino } from "pino";
import { Registry } from "prom-client";
import { ProgramSuspensions } from "../../../src/sandbox/batch/program-suspension.ts";
import { createSandboxMetrics } from "../../../src/sandbox/metrics.ts";
import type { ProgramOutcome } from "../../../src/sandbox/program.ts";
import {
  CODE_SLOW_MS,
  SUSPENDED_MS_MAX,
  SUSPENDED_MS_MIN,
  SUSPENSION_BATCHES,
  SUSPENSION_CULPRITS,
  SUSPENSION_GOOD_MS,
} from "../../../src/settings/limits.ts";
import { until } from "../../until.ts";
import { batch, PATIENCE_MS, program, shown, testSandbox } from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

/** The time of day stands still, so that shown times can be compared with it. */
beforeEach(() => {
  setSystemTime(new Date(1_800_000_000_000));
});
afterAll(() => {
  setSystemTime();
});

const failed: ProgramOutcome = { error: { message: "Error: no\n    at transformEvent (T:1:1)" } };
const good: ProgramOutcome = { events: [] };

function clock() {
  const time = { now: 1_000_000 };
  const lines: any[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const metrics = createSandboxMetrics(new Registry());
  const suspensions = new ProgramSuspensions(metrics, log, () => time.now);
  const told = () => lines.splice(0).map(({ msg }) => msg);
  return { time, suspensions, told };
}

/** Milliseconds until the end of the only suspension, which is shown as a time. */
const msLeft = (suspensions: ProgramSuspensions) => suspensions.list()[0]!.until - Date.now();

const calm = { hasBreached: false, isDoubtful: false };

test("the program that failed longest ago is forgotten when very many fail", () => {
  const { suspensions } = clock();
  const suspend = (text: string) => {
    const one = program(text);
    for (let i = 0; i < SUSPENSION_BATCHES; i += 1) suspensions.record(one, [failed], calm);
    return one;
  };
  const [first, second, third] = [suspend("1"), suspend("2"), suspend("3")];
  suspensions.record(third, [good], calm);
  for (let n = 3; n <= 10_000; n += 1) suspensions.record(program(String(n)), [failed], calm);
  suspensions.record(first, [failed], calm);
  expect(suspensions.errorFor(second)).toBeDefined();
  suspensions.record(program("one more"), [failed], calm);
  expect(suspensions.errorFor(second)).toBeUndefined();
  expect(suspensions.errorFor(first)).toBeDefined();
});

test("a program is suspended after enough batches without a good event", () => {
  const { suspensions } = clock();
  const one = program("");
  for (let i = 1; i < SUSPENSION_BATCHES; i += 1) suspensions.record(one, [failed, failed], calm);
  expect(suspensions.errorFor(one)).toBeUndefined();
  suspensions.record(one, [failed], calm);
  expect(suspensions.errorFor(one)?.message).toBe(
    "Transformation is suspended for 1 s, since it only fails: Error: no",
  );
  expect(suspensions.errorFor(program(""))).toBeUndefined();
  expect(suspensions.list()).toEqual([
    expect.objectContaining({ programId: one.id, workspaceId: "w1", reason: "Error: no" }),
  ]);
});

test("a batch without outcomes says nothing of its program, and the last error of others is the reason", () => {
  const { suspensions } = clock();
  const one = program("");
  for (let i = 0; i < 2 * SUSPENSION_BATCHES; i += 1) suspensions.record(one, [], calm);
  expect(suspensions.list()).toEqual([]);
  const fails = (...messages: string[]) =>
    suspensions.record(
      one,
      messages.map((message) => ({ error: { message } })),
      calm,
    );
  for (let i = 0; i < SUSPENSION_BATCHES; i += 1) fails("first", "second", "third\nat line 3");
  expect(suspensions.list()).toMatchObject([{ reason: "third" }]);
  // A batch that began before the suspension ends with the error of the suspension.
  fails(suspensions.errorFor(one)!.message);
  expect(suspensions.list()).toMatchObject([{ reason: "third" }]);
});

test("a program that breaks into its guest is suspended at once, each time for twice as long", () => {
  const { suspensions, time } = clock();
  const one = program("");
  for (let period = SUSPENDED_MS_MIN; period < SUSPENDED_MS_MAX; period *= 2) {
    suspensions.record(one, [failed], { ...calm, hasBreached: true });
    time.now += period - 1;
    expect(suspensions.errorFor(one)).toBeDefined();
    time.now += 1;
    expect(suspensions.errorFor(one)).toBeUndefined();
  }
});

test("a program is listed as suspended while a batch is tried, until one of its events succeeds", () => {
  const { suspensions, time } = clock();
  const one = program("");
  const listed = () => suspensions.list().length;
  suspensions.record(one, [failed], { ...calm, hasBreached: true });
  time.now += SUSPENDED_MS_MIN;
  expect(listed()).toBe(0);
  {
    using _trial = suspensions.beginTrial(one);
    using _other = suspensions.beginTrial(one);
    expect(listed()).toBe(1);
    suspensions.record(one, [good], calm);
    expect(listed()).toBe(0);
  }
  suspensions.record(one, [failed], { ...calm, hasBreached: true });
  time.now += SUSPENSION_GOOD_MS + SUSPENDED_MS_MIN;
  suspensions.record(one, [failed], { ...calm, hasBreached: true });
  time.now += SUSPENDED_MS_MAX;
  expect(listed()).toBe(0);
});

test("the log has the first suspension and its end, without the error of the code", () => {
  const { suspensions, told, time } = clock();
  const one = program("");
  const fail = () => suspensions.record(one, [failed], calm);
  for (let i = 0; i < SUSPENSION_BATCHES; i += 1) fail();
  expect(told()).toEqual(["transformation suspended because it only fails"]);
  time.now += SUSPENDED_MS_MAX;
  fail();
  expect(told()).toEqual([]);
  suspensions.record(one, [good], calm);
  suspensions.record(one, [good], calm);
  expect(told()).toEqual(["transformation works again after a suspension"]);
});

test("one successful event resets the failures of a program", () => {
  const { suspensions } = clock();
  const one = program("");
  for (let i = 1; i < SUSPENSION_BATCHES; i += 1) suspensions.record(one, [failed], calm);
  suspensions.record(one, [failed, good, failed], calm);
  for (let i = 1; i < SUSPENSION_BATCHES; i += 1) suspensions.record(one, [failed], calm);
  expect(suspensions.errorFor(one)).toBeUndefined();
});

test("a program with good events among the bad ones is never suspended", () => {
  for (const goodOnes of [1, 10]) {
    const { suspensions, time } = clock();
    const one = program("");
    suspensions.record(one, [failed], calm);
    for (let minute = 0; minute < 10; minute += 1) {
      const events = Array.from({ length: 100 }, (_, n) => (n < goodOnes ? good : failed));
      suspensions.record(one, events, calm);
      // Until the next good event every one fails, at great cost.
      for (let batches = 0; batches < SUSPENSION_BATCHES; batches += 1) {
        suspensions.record(one, Array(100).fill(failed), calm);
        expect(suspensions.errorFor(one)).toBeUndefined();
      }
      time.now += SUSPENSION_GOOD_MS - 1;
    }
    time.now += 1;
    suspensions.record(one, [failed], calm);
    expect(suspensions.errorFor(one)).toBeDefined();
  }
});

test("periods grow up to their limit, with one batch tried between them", () => {
  const { suspensions, time } = clock();
  const one = program("");
  for (let i = 0; i < SUSPENSION_BATCHES; i += 1) suspensions.record(one, [failed], calm);
  const periods: number[] = [];
  for (let i = 0; i < 12; i += 1) {
    const periodMs = msLeft(suspensions);
    time.now += periodMs;
    periods.push(periodMs);
    expect(suspensions.errorFor(one)).toBeUndefined();
    suspensions.record(one, [failed], calm);
  }
  expect(periods.slice(0, 3)).toEqual([
    SUSPENDED_MS_MIN,
    2 * SUSPENDED_MS_MIN,
    4 * SUSPENDED_MS_MIN,
  ]);
  expect(periods.at(-1)).toBe(SUSPENDED_MS_MAX);
  time.now += msLeft(suspensions);
  suspensions.record(one, [good], calm);
  expect(suspensions.list()).toEqual([]);
});

test("events that each use up their time suspend a program in the middle of a batch", () => {
  const { suspensions, time } = clock();
  const one = program("");
  using trial = suspensions.beginTrial(one);
  expect([trial.isSuspect(), trial.isLastTry()]).toEqual([false, false]);
  for (let n = 1; n < SUSPENSION_CULPRITS; n += 1) trial.noteCulprit("timed out");
  expect([trial.isSuspect(), trial.isLastTry(), trial.suspended()]).toEqual([
    true,
    true,
    undefined,
  ]);
  trial.noteCulprit("timed out");
  expect(trial.suspended()?.message).toEndWith("suspended for 1 s, since it only fails: timed out");
  // The end of the same batch does not make the suspension longer.
  suspensions.record(one, [failed], calm);
  expect(msLeft(suspensions)).toBe(SUSPENDED_MS_MIN);
  time.now += SUSPENDED_MS_MIN;
  trial.noteCulprit("timed out");
  expect([trial.isLastTry(), trial.suspended()]).toEqual([true, undefined]);
  trial.noteCulprit("timed out");
  expect(msLeft(suspensions)).toBe(2 * SUSPENDED_MS_MIN);
});

test("a suspension ends in time after the clock was set back", async () => {
  const suspensions = new ProgramSuspensions(
    createSandboxMetrics(new Registry()),
    pino({ enabled: false }),
  );
  const one = program("");
  suspensions.record(one, [failed], { ...calm, hasBreached: true });
  setSystemTime(Date.now() - 3_600_000);
  expect(msLeft(suspensions)).toBeLessThanOrEqual(SUSPENDED_MS_MIN);
  await until(() => suspensions.errorFor(one) === undefined);
});

test("a program is slow while it runs and no event has succeeded for long", () => {
  const { suspensions, time } = clock();
  const one = program("");
  const since = Date.now() - CODE_SLOW_MS;
  {
    using trial = suspensions.beginTrial(one);
    time.now += CODE_SLOW_MS - 1;
    expect(suspensions.slow()).toEqual([]);
    time.now += 1;
    expect(suspensions.slow()).toEqual([{ programId: one.id, workspaceId: "w1", since }]);
    trial.noteSuccess();
    expect(suspensions.slow()).toEqual([]);
    time.now += CODE_SLOW_MS;
    expect(suspensions.slow()).toHaveLength(1);
  }
  expect(suspensions.slow()).toEqual([]);
});

test("events that use up their time suspend no program that succeeded lately", () => {
  const { suspensions, time } = clock();
  const one = program("");
  using trial = suspensions.beginTrial(one);
  trial.noteSuccess();
  for (let n = 0; n < 2 * SUSPENSION_CULPRITS; n += 1) trial.noteCulprit("timed out");
  expect([trial.isSuspect(), trial.isLastTry(), trial.suspended()]).toEqual([
    false,
    false,
    undefined,
  ]);
  time.now += SUSPENSION_GOOD_MS;
  expect(trial.isSuspect()).toBe(true);
  trial.noteSuccess();
  time.now += SUSPENSION_GOOD_MS;
  expect(trial.isSuspect()).toBe(false);
});

test("a program that succeeded lately is not suspended when each batch has its own copy of it", () => {
  const { suspensions, time } = clock();
  const one = program("");
  suspensions.record(one, [good], calm);
  const fail = () => {
    for (let n = 0; n < 2 * SUSPENSION_BATCHES; n += 1) {
      suspensions.record({ ...one }, [failed], calm);
    }
  };
  fail();
  expect(suspensions.list()).toEqual([]);
  time.now += SUSPENSION_GOOD_MS;
  fail();
  expect(suspensions.list()).toHaveLength(1);
});

test("a program whose events fail by the clock alone is not suspended", () => {
  const { suspensions } = clock();
  const one = program("");
  for (let n = 0; n < 2 * SUSPENSION_BATCHES; n += 1) {
    const events = Array(20).fill(failed);
    suspensions.record(one, events, { ...calm, isDoubtful: true });
  }
  expect(suspensions.list()).toEqual([]);
  suspensions.record(one, [failed], { ...calm, hasBreached: true, isDoubtful: true });
  expect(suspensions.list()).toHaveLength(1);
});

const registry = new Registry();
const sandbox = testSandbox({ metrics: registry, limits: { cpuMs: 100 } });
afterAll(() => sandbox.close());

test("events of a suspended program get the reason, and it shows in the metrics", async () => {
  const looping = program("export const transformEvent = () => { for (;;); }");
  while (sandbox.suspended().length === 0) {
    expect(shown(await sandbox.run(looping, batch({})))).toEqual(["Script execution timed out."]);
  }
  expect(shown(await sandbox.run(looping, batch({ n: 1 }, { n: 2 })))).toEqual([
    expect.stringMatching(/^Transformation is suspended .* Script execution timed out\.$/),
    expect.stringMatching(/^Transformation is suspended /),
  ]);
  const text = await registry.metrics();
  expect(text).toMatch(/^pixelmill_programs_suspended 1$/m);
  expect(text).toMatch(/^pixelmill_program_suspensions_total 1$/m);
  // A loop that the machine gave no processor ends by the clock, and counts as no culprit.
  expect(text).toMatch(/^pixelmill_program_culprits_total\{cause="timeout"\} [1-9]\d*$/m);
});
