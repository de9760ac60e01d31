import { expect, test } from "bun:test";
import { pino } from "pino";
import { systemClock } from "../../src/pipeline/clock.ts";
import { CodeLogs } from "../../src/pipeline/monitoring/code-logs.ts";
import { transform } from "../../src/pipeline/transforming/transform.ts";
import type { ProgramOutcome } from "../../src/sandbox/program.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { FakeLive, FakeSandbox, laneEvent } from "./doubles.ts";

test("an event is not for a destination that it excludes, except as its dead letter", async () => {
  const live = new FakeLive();
  live.putDestination("one", { name: "Hook" });
  const choice = { integrations: { hook: false }, deniedConsentIds: [] };
  const excluded = laneEvent();
  Object.assign(excluded.input.event, { choice });
  const requeued = laneEvent();
  Object.assign(requeued.input.event, { choice });
  Object.assign(requeued, { origin: { requeued: { stage: "transform", messageId: "m" } } });
  const results = await transform(contextOf(live, new FakeSandbox()), [excluded, requeued]);
  expect(results![0]).toEqual({ outcome: { kind: "dropped" } });
  expect(results![1]).toHaveProperty("outputs");
});

test("an event that does not pass the destination's filter is dropped, except as its dead letter", async () => {
  const live = new FakeLive();
  const filter = { mode: "only", conditions: [{ path: "type", values: ["none"] }] } as const;
  live.putDestination("one", { filter });
  const requeued = laneEvent();
  Object.assign(requeued, { origin: { requeued: { stage: "transform", messageId: "m" } } });
  const results = await transform(contextOf(live, new FakeSandbox()), [laneEvent(), requeued]);
  expect(results![0]).toEqual({ outcome: { kind: "dropped" } });
  expect(results![1]).toHaveProperty("outputs");
});

test("requeued events of several sources or times with one messageId all run, each once", async () => {
  const live = new FakeLive();
  live.putDestination("one");
  const letter = { stage: "transform", messageId: "m", sourceId: "s", receivedAt: 1 };
  const letters = [letter, { ...letter, sourceId: "t" }, { ...letter, receivedAt: 2 }, letter];
  const events = letters.map((requeued) => laneEvent({ origin: { requeued } as never }));
  const results = await transform(contextOf(live, new FakeSandbox()), events);
  const run = results!.map((it) => it !== undefined && "outputs" in it);
  expect(run).toEqual([true, true, true, false]);
});

function contextOf(live: FakeLive, sandbox: FakeSandbox) {
  return {
    ...{ live, sandbox, logger: pino({ level: "silent" }), codeLogs: new CodeLogs(systemClock) },
    destination: () => live.destinations.get("one")!,
    running: () => true,
    random: () => 0,
    removeOverrides: (event: Uint8Array) => event,
    pause: async () => {},
    unlessStopped: async <T>(work: Promise<T>) => work,
    setWaiting: () => {},
    onRun: () => {},
  };
}

test("an output that waits does not keep the guest's whole answer in memory", async () => {
  const live = new FakeLive();
  live.putDestination("one");
  live.publish("one", "code", "version");
  const answer = Buffer.alloc(1 << 20, '{"n":1}');
  const event = laneEvent();
  const sandbox = new FakeSandbox();
  sandbox.run = async () => [{ events: [answer.subarray(0, 7), answer.subarray(7, 14)] }];
  const context = contextOf(live, sandbox);
  const result = (await transform(context, [event]))![0]!;
  const outputs = "outputs" in result ? result.outputs : [];
  expect(outputs.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(['{"n":1}', '{"n":1}']);
  for (const { bytes } of outputs) expect(bytes.buffer.byteLength).toBe(7);
});

test("code that is published once a larger batch was taken gets the first 100 of its events", async () => {
  const live = new FakeLive();
  live.putDestination("one");
  const sandbox = new FakeSandbox();
  const context = contextOf(live, sandbox);
  const events = Array.from({ length: 500 }, () => laneEvent());
  expect((await transform(context, events))!.every((it) => it && "outputs" in it)).toBe(true);
  live.publish("one", "code", "version");
  const sizes: number[] = [];
  sandbox.run = async (_program, { events }) => {
    sizes.push(events.length);
    return events.map(() => ({ events: [] }));
  };
  const results = (await transform(context, events))!;
  expect(sizes).toEqual([100]);
  expect(results.map((it) => it === undefined).indexOf(true)).toBe(100);
});

test("the reason of a dead letter has the code's credentials masked, also where it was cut", async () => {
  const live = new FakeLive();
  live.putDestination("one");
  live.publish("one", "code", "version");
  Object.assign(live.program("one")!, { credentials: { key: "s3cret-of-the-warehouse" } });
  const sandbox = new FakeSandbox();
  const messages = ["Error: s3cret-of-the-warehouse!", "Error: s3cret-of-the", "Error: https"];
  sandbox.run = async () => messages.map((message) => ({ error: { message } }));
  const results = await transform(
    contextOf(live, sandbox),
    messages.map(() => laneEvent()),
  );
  const reasons = results!.map((it) => it && "outcome" in it && Reflect.get(it.outcome, "reason"));
  expect(reasons).toEqual(["Error: ***!", "Error: ***", "Error: https"]);
});

test("a batch waits for the sandbox, and runs the code that is published then", async () => {
  const live = new FakeLive();
  live.putDestination("one");
  live.publish("one", "code", "v1");
  const sandbox = new FakeSandbox();
  const made: ProgramOutcome[] = [
    { events: [Buffer.from("{}")] },
    { events: [] },
    { error: { message: "no", line: 2, column: 3 } },
  ];
  const failures = [new SandboxUnavailable("none"), new Error("broken")];
  sandbox.run = async () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return made;
  };
  const told: unknown[] = [];
  const context = {
    ...contextOf(live, sandbox),
    logger: { warn: () => told.push("warn"), error: () => told.push("error") } as never,
    pause: async () => {
      told.push("pause");
      live.publish("one", "code", "v2");
    },
    setWaiting: (isWaiting: boolean) => told.push(isWaiting),
    onRun(program: { id: string }, outcomes: readonly ProgramOutcome[], seconds: number) {
      const ran = seconds >= 0 && seconds <= performance.now() / 1_000;
      told.push([program.id, outcomes.length, ran]);
    },
  };
  const results = await transform(context, [laneEvent(), laneEvent(), laneEvent()]);
  expect(told).toEqual([
    ...[true, "warn", "pause", true, "error", "pause"],
    ...[["v2", 3, true], false],
  ]);
  const published = expect.objectContaining({ id: "v2" });
  expect(results).toEqual([
    { outputs: [expect.objectContaining({ bytes: new Uint8Array(Buffer.from("{}")) })] },
    { outcome: { kind: "dropped" }, live: published },
    {
      outcome: { kind: "dead-letter", stage: "transform", reason: "no", line: 2, column: 3 },
      live: published,
    },
  ]);
});
