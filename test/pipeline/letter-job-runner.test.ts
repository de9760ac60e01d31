import { expect, test } from "bun:test";
import { pino } from "pino";
import type { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import { type LetterJob, noCounts } from "../../src/pipeline/model/replay-job.ts";
import { LetterJobRunner } from "../../src/pipeline/replays/letter-job-runner.ts";
import { fail } from "./doubles.ts";
import { until } from "./rig.ts";

/** Result of a step, or the error that it meets: how many letters it scanned, and where to. */
type Step = { seen: number; to: string[] } | Error;

const ended = { seen: 1, requeued: [], isOver: true };

/**
 * Runs a job through `steps`, and one that ends it. Returns what the runner did, in order: pauses
 * as numbers, and steps by their largest number of letters.
 */
async function ran(
  job: Partial<LetterJob>,
  steps: Step[],
  crowded: (done: readonly (string | number)[]) => string[] = () => [],
) {
  const done: (string | number)[] = [];
  const woken: string[] = [];
  const errors: string[] = [];
  const stored: LetterJob = {
    ...{ id: "job", workspaceId: "w", kind: "dead-letters", state: "running", filter: {} },
    ...{ rate: 100, createdAt: 0, counts: noCounts, after: "", before: "~", seen: 0, total: 9 },
    ...job,
  };
  const over = Promise.withResolvers<void>();
  let at = 0;
  const ledger = {
    jobs: { get: () => stored, running: () => [stored] },
    requeued: {
      hasAtLeast: (id: string, count: number) => count === 1_000 && crowded(done).includes(id),
    },
    async moveLetters(_workspace: string, _id: string, count: number) {
      done.push(`step of ${count}`);
      const step = steps[at++];
      if (step instanceof Error) throw step;
      if (step === undefined) over.resolve();
      if (step === undefined) return ended;
      const requeued = step.to.map((destinationId) => ({ letter: { destinationId } }));
      return { seen: step.seen, requeued, isOver: false };
    },
  };
  const runner = new LetterJobRunner({
    ledger: ledger as unknown as Ledger,
    wake: (ids) => void woken.push(ids.join()),
    clock: {
      ...{ now: () => 0, elapsed: () => 0, age: () => 0, random: () => 0 },
      sleep: async (ms) => void done.push(ms),
    },
    logger: pino({ level: "error" }, { write: (line) => void errors.push(JSON.parse(line).msg) }),
  });
  await over.promise;
  await runner.stop();
  return { done, woken, errors };
}

test.each([
  [
    "a rate of 100 a second",
    { rate: 100 },
    [{ seen: 25, to: Array(25).fill("d") }],
    ["step of 25", 250],
  ],
  ["less than a step's share", { rate: 100 }, [{ seen: 25, to: ["d"] }], ["step of 25", 10]],
  [
    "a rate below the steps of a second",
    { rate: 1 },
    [{ seen: 1, to: ["d"] }],
    ["step of 1", 1_000],
  ],
  [
    "a rate above the largest step",
    { rate: 5_000 },
    [{ seen: 250, to: ["d"] }],
    ["step of 250", 10],
  ],
  [
    "letters that the filter does not select",
    { rate: 1 },
    [{ seen: 9, to: [] }],
    ["step of 1", 10],
  ],
  ["no letters", { rate: 1 }, [{ seen: 0, to: [] }], ["step of 1", 10]],
  ["a purge", { kind: "purge", rate: 1 }, [{ seen: 250, to: [] }], ["step of 250", 10]],
] as [string, Partial<LetterJob>, Step[], (string | number)[]][])(
  "a step over dead letters pauses by its rate: %s",
  async (_, job, steps, expected) => {
    const { done } = await ran(job, steps);
    expect(done).toEqual([...expected, expected[0]!]);
  },
);

test("a job wakes each destination once a step, and waits while one of the last is crowded", async () => {
  const steps = [
    { seen: 3, to: ["e", "e", "e"] },
    { seen: 3, to: [] },
    { seen: 1, to: ["f"] },
  ];
  const step = "step of 25";
  // The second step requeued nothing; the destinations of the first one are crowded for two waits.
  const crowded = (done: readonly (string | number)[]) => {
    const count = (what: string | number) => done.filter((it) => it === what).length;
    return count(step) === 2 && count(200) < 2 ? ["e"] : [];
  };
  const { done, woken } = await ran({}, steps, crowded);
  expect(woken).toEqual(["e", "", "f", ""]);
  expect(done).toEqual([step, 30, step, 10, 200, 200, step, 10, step]);
});

test("a failed step is logged, and tried again after a second", async () => {
  const { done, errors } = await ran({}, [new Error("disk full"), { seen: 1, to: ["d"] }]);
  expect(done).toEqual(["step of 25", 1_000, "step of 25", 10, "step of 25"]);
  expect(errors).toEqual(["replay step failed"]);
});

test("a job whose ledger cannot be read for a while is logged, and goes on", async () => {
  let left = 2;
  const unreadable = (done: readonly (string | number)[]): string[] => {
    if (done.length > 1 && left-- > 0) throw new Error("The ledger is being opened again");
    return [];
  };
  const { done, errors } = await ran({}, [{ seen: 1, to: ["d"] }], unreadable);
  expect(done).toEqual(["step of 25", 10, 1_000, 1_000, "step of 25"]);
  expect(errors).toEqual(Array(2).fill("replay step failed"));
});

test("jobs that cannot be listed are started a second later", async () => {
  const steps: string[] = [];
  const pauses: number[] = [];
  const stored = { id: "job", workspaceId: "w", kind: "purge", state: "running" };
  const running = [() => [stored], () => fail("The ledger is being opened again")];
  const ledger = {
    jobs: { get: () => stored, running: () => running.pop()!() },
    moveLetters: async (_: string, id: string) => {
      steps.push(id);
      return ended;
    },
  };
  const runner = new LetterJobRunner({
    ledger: ledger as unknown as Ledger,
    wake() {},
    clock: {
      ...{ now: () => 0, elapsed: () => 0, age: () => 0, random: () => 0 },
      sleep: async (ms) => void pauses.push(ms),
    },
    logger: pino({ level: "silent" }),
  });
  await until(() => steps.length > 0);
  await runner.stop();
  expect({ steps, pauses }).toEqual({ steps: ["job"], pauses: [1_000] });
});

test.each([
  ["has ended", { state: "done" }],
  ["was moved", { movedAt: 1 }],
] as [string, Partial<LetterJob>][])("a job that %s takes no step", async (_, job) => {
  const stored = { id: "job", workspaceId: "w", kind: "purge", state: "running", ...job };
  const jobs = { get: () => stored, running: () => [stored] };
  const pauses: number[] = [];
  const runner = new LetterJobRunner({
    ledger: { jobs } as unknown as Ledger,
    wake() {},
    clock: {
      ...{ now: () => 0, elapsed: () => 0, age: () => 0, random: () => 0 },
      sleep: async (ms) => void pauses.push(ms),
    },
    logger: pino({ level: "silent" }),
  });
  await runner.stop();
  expect(pauses).toEqual([]);
});
