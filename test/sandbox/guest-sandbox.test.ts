import { afterEach, beforeEach, expect, mock, spyOn, test } from "bun:test";
import { Registry } from "prom-client";
import { batchBytes } from "../../src/sandbox/batch/frame-events.ts";
import type { GuestSource } from "../../src/sandbox/process/guest-source.ts";
import type { LogLine, ProgramBatch } from "../../src/sandbox/program.ts";
import { GuestPool } from "../../src/sandbox/scheduling/guest-pool.ts";
import { SUSPENSION_BATCHES } from "../../src/settings/limits.ts";
import { ENDLESS, SimulatedGuests } from "./batch/simulated-guests.ts";
import { batch, program, shown, testSandbox } from "./support.ts";

/** How batches of live programs pass through a sandbox, on guests without processes. */

const TIMED_OUT = "Script execution timed out.";
const good = { n: 1, cpuMs: 0.1 };
const looping = { n: 2, cpuMs: ENDLESS };

let guests: SimulatedGuests;
let metrics: Registry;
let sandbox: ReturnType<typeof testSandbox>;
/** Guests that were used, with the bytes of the batch. */
let uses: [which: string, bytes: number][];
/** Sources of the next uses, in place of one that stays. */
let leaving: number;

beforeEach(() => {
  guests = new SimulatedGuests();
  metrics = new Registry();
  [uses, leaving] = [[], 0];
  const use =
    (which: string) =>
    async (...[, bytes, work]: Parameters<GuestPool["use"]>) => {
      uses.push([which, bytes]);
      const isLeaving = which === "second" && leaving-- > 0;
      return work({ guest: () => guests.guest(), isLeaving } as GuestSource);
    };
  spyOn(GuestPool.prototype, "use").mockImplementation(use("first") as never);
  spyOn(GuestPool.prototype, "useSecond").mockImplementation(use("second") as never);
  sandbox = testSandbox({ metrics });
});
afterEach(async () => {
  mock.restore();
  await sandbox.close();
});

const samplesOf = async (name: string) => {
  const { values } = await metrics.getSingleMetric(`pixelmill_${name}`)!.get();
  return values.map(({ labels, value }) => [Object.values(labels)[0], value]);
};

test("a sandbox without work has no guests, and shows each cause of an end from 0 on", async () => {
  expect(sandbox.status()).toEqual({ state: "starting", insecure: false });
  expect(sandbox.guestCounts()).toEqual({ alive: 0, awaited: 0 });
  expect([sandbox.suspended(), sandbox.slow()]).toEqual([[], []]);
  const causes = ["timeout", "memory", "crash", "overflow", "violation", "threads", "stderr"];
  expect(await samplesOf("program_culprits_total")).toEqual(causes.map((cause) => [cause, 0]));
  for (const name of ["guests_awaited", "workspaces_paused", "programs_suspended"]) {
    expect(await samplesOf(name)).toEqual([[undefined, 0]]);
  }
});

test("a batch runs in the first guest, and its outcomes and time are counted", async () => {
  const events = batch(good, good);
  expect(shown(await sandbox.run(program(""), events))).toEqual([[{ n: 1 }], [{ n: 1 }]]);
  expect(uses).toEqual([["first", batchBytes(events)]]);
  expect(await samplesOf("program_events_total")).toEqual([["transformed", 2]]);
  expect(await metrics.metrics()).toContain("pixelmill_program_run_seconds_count 1");
  // More than fit one frame, whose outputs are few bytes.
  const many = Array.from({ length: 600 }, () => good);
  expect(await sandbox.run(program(""), batch(...many))).toHaveLength(600);
});

test("outcomes are counted as transformed, dropped or failed", async () => {
  const guest = guests.guest();
  const { request } = guest;
  guest.request = (async (...[header, body, limits, parse]: Parameters<typeof request>) => {
    if (header.kind !== "run") return request(header, body, limits, parse);
    const reply = { kind: "ran", counts: [0, -1, 2, 0, 0], errors: [{ message: "no" }], logs: [] };
    return parse({ header: reply, body: Buffer.from("{}\n{}") } as never);
  }) as typeof request;
  const outcomes = await sandbox.run(program(""), batch(good, good, good, good, good));
  expect(shown(outcomes)).toEqual([[], "no", [{}, {}], [], []]);
  expect(await samplesOf("program_events_total")).toEqual([
    ["failed", 1],
    ["dropped", 3],
    ["transformed", 1],
  ]);
});

test("a batch that has cost its guest continues in the second one, as the next ones do", async () => {
  const one = program("");
  const events = batch(good, looping, good);
  const expected = [[{ n: 1 }], TIMED_OUT, [{ n: 1 }]];
  expect(shown(await sandbox.run(one, events))).toEqual(expected);
  const bytes = batchBytes(events);
  expect(uses.splice(0)).toEqual([
    ["first", bytes],
    ["second", bytes],
  ]);
  expect(await samplesOf("program_events_total")).toEqual([
    ["failed", 1],
    ["transformed", 2],
  ]);
  expect((await samplesOf("program_culprits_total"))[0]).toEqual(["timeout", 1]);
  expect(shown(await sandbox.run(one, batch(good)))).toEqual([[{ n: 1 }]]);
  expect(shown(await sandbox.run(program(""), batch(good)))).toEqual([[{ n: 1 }]]);
  expect(uses.map(([which]) => which)).toEqual(["second", "first"]);
});

test("a batch whose second guest has to leave continues in another one", async () => {
  const one = program("");
  await sandbox.run(one, batch(looping));
  uses = [];
  leaving = 2;
  expect(shown(await sandbox.run(one, batch(good)))).toEqual([[{ n: 1 }]]);
  expect(uses.map(([which]) => which)).toEqual(["second", "second", "second"]);
});

test("batches of one costly program run one after another, and those of another one do not wait", async () => {
  const [one, other] = [program(""), program("")];
  for (const it of [one, other]) await sandbox.run(it, batch(looping));
  const gate = Promise.withResolvers<void>();
  const begun: unknown[] = [];
  spyOn(GuestPool.prototype, "useSecond").mockImplementation((async (
    ...[{ workspaceId }, , work]: Parameters<GuestPool["use"]>
  ) => {
    begun.push(workspaceId);
    await gate.promise;
    return work(guests);
  }) as never);
  const runs = [one, { ...one, workspaceId: "again" }, { ...other, workspaceId: "other" }].map(
    (it) => sandbox.run(it, batch(good)),
  );
  await Bun.sleep(0);
  expect(begun).toEqual(["w1", "other"]);
  gate.resolve();
  expect((await Promise.all(runs)).map(shown)).toEqual(Array(3).fill([[{ n: 1 }]]));
  expect(begun).toEqual(["w1", "other", "again"]);
});

test("a program that only fails is suspended, and its events then fail without a run", async () => {
  const one = program("");
  const fails = { n: 3, cpuMs: 0.1, ends: "violation" as const };
  expect(shown(await sandbox.run(one, batch(fails)))[0]).toContain("broke into its guest");
  expect(sandbox.suspended()).toMatchObject([{ programId: one.id }]);
  uses = [];
  const outcomes = shown(await sandbox.run(one, batch(good, good)));
  expect(outcomes).toEqual(Array(2).fill(expect.stringContaining("Transformation is suspended")));
  expect(uses).toEqual([]);
  expect(await samplesOf("program_events_total")).toEqual([["failed", 3]]);
  expect(await samplesOf("program_suspensions_total")).toEqual([[undefined, 1]]);
});

test("events that are not awaited count neither in the metrics nor against their program", async () => {
  const one = program("");
  const gone: ProgramBatch = { ...batch(good, good), isAwaited: () => false };
  for (let times = 0; times < 2 * SUSPENSION_BATCHES; times += 1) {
    const outcomes = shown(await sandbox.run(one, gone));
    expect(outcomes).toEqual(Array(2).fill("Not run: the request has ended"));
  }
  expect([guests.runs, sandbox.suspended()]).toEqual([[], []]);
  expect(await samplesOf("program_events_total")).toEqual([]);
});

test("lines of a batch are taken once, by a sink that has room for them", async () => {
  const taken: LogLine[][] = [];
  const sink = (lines: number) => ({
    lines,
    chars: 1_000,
    take: (it: LogLine[]) => void taken.push(it),
  });
  await sandbox.run(program(""), batch(good, good), sink(10));
  await sandbox.run(program(""), batch(good), sink(0));
  await sandbox.run(program(""), batch(good));
  expect(taken).toEqual([[{ text: "2 events" }]]);
});
