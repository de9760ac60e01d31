import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { SandboxUnavailable } from "../../../src/sandbox/sandbox.ts";
import { TestBudget } from "../../../src/sandbox/test-budget.ts";
import {
  batch,
  childProcesses,
  eventually,
  hasty,
  PATIENCE_MS,
  program,
  sandboxWithSpares,
  shown,
} from "../support.ts";

setDefaultTimeout(PATIENCE_MS);

const looping = "export const transformEvent = () => { for (;;); }";
const identity = "export const transformEvent = (event) => event";

const crowded = sandboxWithSpares({ limits: { guests: 3 } });
afterAll(() => crowded.close());

test("a workspace that uses up its CPU time does not delay another workspace", async () => {
  const sandbox = sandboxWithSpares({ limits: { guests: 3 } });
  const burning = sandbox.run(program(looping, { workspaceId: "burns" }), batch({}));
  const ended = burning.catch((error) => error);
  const calm = program(identity, { workspaceId: "calm" });
  for (let i = 0; i < 20; i += 1) {
    expect(shown(await sandbox.run(calm, batch({ i })))).toEqual([[{ i }]]);
  }
  expect(Bun.peek.status(burning)).toBe("pending");
  await sandbox.close();
  expect(await ended).toBeInstanceOf(SandboxUnavailable);
});

test("work of one workspace is done in order", async () => {
  const order: number[] = [];
  const calm = program(identity, { workspaceId: "calm" });
  await Promise.all(
    [0, 1, 2, 3, 4].map((n) => crowded.run(calm, batch({ n })).then(() => order.push(n))),
  );
  expect(order).toEqual([0, 1, 2, 3, 4]);
});

test("more workspaces than guests take turns, a busy one no more than one at a time", async () => {
  const slow = `export const transformEvent = () => {
    for (const end = Date.now() + 20; Date.now() < end; );
  }`;
  const work = async (workspaceId: string, code: string) =>
    shown(await crowded.run(program(code, { workspaceId }), batch({})));
  let served = false;
  // Each always has thirty more to do, until the modest ones have had their turn.
  const greedy = ["g1", "g2", "g3"].flatMap((id) =>
    Array.from({ length: 30 }, async () => {
      while (!served) await work(id, slow);
    }),
  );
  const modest = await Promise.all(["m1", "m2", "m3", "m4"].map((id) => work(id, identity)));
  expect(modest).toEqual(modest.map(() => [[{}]]));
  served = true;
  await Promise.all(greedy);
});

test("test runs of one workspace hold up no live events", async () => {
  const sandbox = sandboxWithSpares({ limits: { guests: 2, throwAways: 2 } });
  const checks = Array.from({ length: 20 }, () =>
    sandbox.check(program(looping, { workspaceId: "tests" }), batch({})),
  );
  const ended = Promise.allSettled(checks);
  const live = program(identity, { workspaceId: "live" });
  expect(shown(await sandbox.run(live, batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
  expect(checks.filter((check) => Bun.peek.status(check) !== "pending")).toEqual([]);
  await sandbox.close();
  await ended;
});

test("test runs take no guest from a workspace that is idle, one workspace too many does", async () => {
  const sandbox = sandboxWithSpares({ limits: { guests: 2, throwAways: 2 } });
  const counting = "let n = 0; export const transformEvent = () => ({ n: ++n })";
  const programs = ["a", "b", "c"].map((workspaceId) => program(counting, { workspaceId }));
  const count = async (index: number) =>
    (shown(await sandbox.run(programs[index]!, batch({}))) as [{ n: number }][])[0]![0].n;
  expect(await count(0)).toBe(1);
  const checks = [1, 2].map(() => sandbox.check(program(looping), batch({})));
  const ended = Promise.allSettled(checks);
  expect(await count(1)).toBe(1);
  expect(await count(0)).toBe(2);
  expect(await count(2)).toBe(1);
  expect(await count(0)).toBe(3);
  expect(await count(1)).toBe(1);
  await sandbox.close();
  await ended;
});

test("code is parsed and tested in one guest, which no other request gets", async () => {
  const metrics = new Registry();
  const sandbox = sandboxWithSpares({ metrics });
  const started = async () => {
    const counter = await metrics.getSingleMetric("pixelmill_guest_starts_total")!.get();
    return counter.values[0]!.value;
  };
  const counting = "let n = 0; export const transformEvent = () => ({ n: ++n })";
  const request = async () => {
    using budget = new TestBudget();
    await sandbox.inspect("w1", "javascript", counting, budget);
    await sandbox.inspect("w1", "javascript", "", budget);
    const { outcomes } = await sandbox.check(program(counting), batch({}), budget);
    return shown(outcomes);
  };
  expect(await request()).toEqual([[{ n: 1 }]]);
  // The spare guest that the request took, and the next spare.
  expect(await started()).toBe(2);
  expect(await request()).toEqual([[{ n: 1 }]]);
  expect(await started()).toBe(3);
  await sandbox.close();
});

test("a guest that only parsed ends with its request, or when the request needs another one", async () => {
  const sandbox = sandboxWithSpares({ limits: { throwAways: 1 } });
  using budget = new TestBudget();
  await sandbox.inspect("w1", "javascript", "", budget);
  const other = new TestBudget();
  const waiting = sandbox.check(program(identity), batch({}), other);
  // The workspace's turn comes again after the other request, which holds no guest by then.
  const python = { language: "python" as const };
  const code = "def transformEvent(event, metadata):\n    return event";
  const reports = [await sandbox.check(program(code, python), batch({}), budget), await waiting];
  expect(reports.map(({ outcomes }) => shown(outcomes))).toEqual([[[{}]], [[{}]]]);
  await sandbox.inspect("w1", "javascript", "", other);
  other[Symbol.dispose]();
  const { outcomes } = await sandbox.check(program(identity), batch({}), budget);
  expect(shown(outcomes)).toEqual([[{}]]);
  await sandbox.close();
});

test("workspaces take turns at test runs", async () => {
  const sandbox = sandboxWithSpares({ limits: { throwAways: 1 } });
  const order: string[] = [];
  const check = (workspaceId: string) =>
    sandbox
      .check(program(identity, { workspaceId }), batch({}))
      .then(() => order.push(workspaceId));
  const many = Array.from({ length: 5 }, () => check("many"));
  await Promise.all([...many, check("one"), check("other")]);
  expect(order).toEqual(["many", "many", "one", "other", "many", "many", "many"]);
  await sandbox.close();
});

test("a program that is forgotten by its guest is loaded again", async () => {
  const programs = Array.from({ length: 300 }, (_, n) =>
    program(`export const transformEvent = () => ({ n: ${n} })`),
  );
  for (const round of [programs, programs.slice(0, 20)]) {
    for (const [n, one] of round.entries()) {
      expect(shown(await crowded.run(one, batch({})))).toEqual([[{ n }]]);
    }
  }
});

test("guests end with their host, also when it is killed", async () => {
  const host = Bun.spawn([process.execPath, join(import.meta.dir, "orphans-host.ts")], {
    stdout: "pipe",
  });
  const { value } = await host.stdout.getReader().read();
  const guests: number[] = JSON.parse(Buffer.from(value!).toString());
  expect(guests.length).toBeGreaterThanOrEqual(2);
  expect(guests.filter((pid) => existsSync(`/proc/${pid}`))).toEqual(guests);
  host.kill("SIGKILL");
  await eventually(() => !guests.some((pid) => existsSync(`/proc/${pid}`)));
});

test("concurrent batches of one workspace do not mix their events", async () => {
  const runs = Array.from({ length: 12 }, async (_, n) => {
    // Larger than the pipe, so that one is written while the other is read.
    const events = Array.from({ length: 8 }, (_, i) => ({ n, i, text: `${n}`.repeat(60_000) }));
    const outcomes = await crowded.run(
      program(identity, { workspaceId: "wide" }),
      batch(...events),
    );
    expect(shown(outcomes)).toEqual(events.map((event) => [event]));
  });
  await Promise.all(runs);
});

test("a batch that waits for the network takes its answers past the next batch", async () => {
  const sandbox = sandboxWithSpares({
    fetch: async ({ url }) => {
      await Bun.sleep(50);
      return { url, status: 200, headers: {}, body: JSON.stringify({ url }) };
    },
  });
  const fetching = program("export const transformEvent = ({ url }) => fetch(url)");
  const plain = program(identity);
  const results = await Promise.all([
    sandbox.run(fetching, batch({ url: "a" }, { url: "b" })),
    sandbox.run(plain, batch({ n: 1 })),
    sandbox.run(fetching, batch({ url: "c" })),
    sandbox.run(plain, batch({ n: 2 })),
  ]);
  expect(results.map(shown)).toEqual([
    [[{ url: "a" }], [{ url: "b" }]],
    [[{ n: 1 }]],
    [[{ url: "c" }]],
    [[{ n: 2 }]],
  ]);
  await sandbox.close();
});

test("batches behind one that kills its guest are run again, without blame", async () => {
  const bomb = program("export const transformEvent = () => { for (;;); }", { workspaceId: "x" });
  const sandbox = sandboxWithSpares({ limits: hasty });
  const plain = program(identity, { workspaceId: "x" });
  await sandbox.run(plain, batch({}));
  // Some are on their way to the guest by then, the others wait.
  const batches = Array.from({ length: 12 }, (_, n) => [{ n }, { n, second: true }]);
  const [bombed, ...others] = await Promise.all([
    sandbox.run(bomb, batch({})),
    ...batches.map((events) => sandbox.run(plain, batch(...events))),
  ]);
  expect(shown(bombed!)).toEqual(["Script execution timed out."]);
  expect(others.map(shown)).toEqual(batches.map((events) => events.map((event) => [event])));
  await sandbox.close();
});

test("a batch that takes long costs its workspace no warm guest", async () => {
  const sandbox = sandboxWithSpares();
  const counting = program(`let n = 0; export const transformEvent = ({ ms }) => {
    for (const end = Date.now() + ms; Date.now() < end; );
    return { n: ++n };
  }`);
  for (const [index, ms] of [600, 0, 600, 0].entries()) {
    expect(shown(await sandbox.run(counting, batch({ ms })))).toEqual([[{ n: index + 1 }]]);
  }
  await sandbox.close();
});

const moody = `let n = 0;
  export function transformEvent(event) { while (event.loop); return { n: ++n } }`;

test("a looping program delays no other program of its workspace after its first culprit", async () => {
  const sandbox = sandboxWithSpares({ limits: { cpuMs: 400 } });
  const looping = program(moody, { workspaceId: "mixed" });
  const calm = program(identity, { workspaceId: "mixed" });
  expect(shown(await sandbox.run(looping, batch({ loop: true }, {})))).toEqual([
    "Script execution timed out.",
    [{ n: 1 }],
  ]);
  // Loops for as long as the other program has work.
  let isDone = false;
  let bad = 0;
  const loops = (async () => {
    while (!isDone) {
      const outcomes = await sandbox.run(looping, batch({ loop: true }, {}, { loop: true }));
      expect(outcomes.map((outcome) => "error" in outcome)).toEqual([true, false, true]);
      bad += 1;
    }
  })();
  await eventually(() => sandbox.guestCounts().alive > 2);
  for (let n = 0; n < 50; n += 1) {
    // None of these waits for a loop: most are done while one batch of the other program runs.
    expect(shown(await sandbox.run(calm, batch({ n })))).toEqual([[{ n }]]);
  }
  isDone = true;
  await loops;
  expect(bad).toBeLessThan(25);
  expect(sandbox.suspended()).toEqual([]);
  await sandbox.close();
});

test("without room for a second guest a looping program stays in the first one", async () => {
  const sandbox = sandboxWithSpares({ limits: { guests: 1, cpuMs: 400 } });
  const before = new Set(childProcesses());
  const looping = program(moody, { workspaceId: "mixed" });
  for (let n = 0; n < 3; n += 1) {
    expect(shown(await sandbox.run(looping, batch({ loop: true }, {})))).toEqual([
      "Script execution timed out.",
      [{ n: 1 }],
    ]);
    // The guest and a spare.
    const own = childProcesses().filter((pid) => !before.has(pid));
    expect(own.length).toBeLessThanOrEqual(3);
  }
  const other = program(identity, { workspaceId: "other" });
  expect(shown(await sandbox.run(other, batch({ n: 1 })))).toEqual([[{ n: 1 }]]);
  await sandbox.close();
});

test("a second guest gives way to a workspace that waits, and its batch continues in the first one", async () => {
  // The last event ends, and needs some CPU time where its code is loaded again.
  const sandbox = sandboxWithSpares({ limits: { guests: 2, cpuMs: 400 } });
  const looping = program(moody, { workspaceId: "mixed" });
  await sandbox.run(looping, batch({ loop: true }));
  const loops = sandbox.run(
    looping,
    batch(...Array.from({ length: 4 }, (_, n) => ({ loop: n < 3 }))),
  );
  const others = ["a", "b"].map((workspaceId) =>
    sandbox.run(program(identity, { workspaceId }), batch({ workspaceId })),
  );
  expect((await Promise.all(others)).map(shown)).toEqual([
    [[{ workspaceId: "a" }]],
    [[{ workspaceId: "b" }]],
  ]);
  const outcomes = shown(await loops);
  expect(outcomes.slice(0, 3)).toEqual(Array(3).fill("Script execution timed out."));
  expect(outcomes[3]).toEqual([{ n: 1 }]);
  await sandbox.close();
});
