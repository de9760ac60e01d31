import { expect, test } from "bun:test";
import { pino } from "pino";
import { systemClock } from "../../src/pipeline/clock.ts";
import { retryDelayMs } from "../../src/pipeline/delivering/retry.ts";
import type { Output } from "../../src/pipeline/model/lane-event.ts";
import { CodeLogs } from "../../src/pipeline/monitoring/code-logs.ts";
import { type TransformResult, transform } from "../../src/pipeline/transforming/transform.ts";
import type { LogLine, ProgramOutcome } from "../../src/sandbox/program.ts";
import { SandboxUnavailable } from "../../src/sandbox/sandbox.ts";
import { FakeLive, FakeSandbox, fail, laneEvent } from "./doubles.ts";

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
    isRunning: () => true,
    clock: { random: () => 0 },
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

/** Destination `one`, whose code `code` is published as version `v1`. */
function published() {
  const live = new FakeLive();
  live.putDestination("one");
  live.publish("one", "code", "v1");
  const sandbox = new FakeSandbox();
  sandbox.codes.set("code", (event) => event);
  return { live, sandbox, context: contextOf(live, sandbox) };
}
const texts = (result: TransformResult | undefined) =>
  result !== undefined && "outputs" in result
    ? result.outputs.map(({ bytes }) => Buffer.from(bytes).toString())
    : result;
const eventOf = (json: string, messageId = "m") => {
  const event = laneEvent();
  Object.assign(event.input, { messageId });
  Object.assign(event.input.event, { json: Buffer.from(json) });
  return event;
};

test("a lane whose code is removed while it waits for the sandbox waits no longer", async () => {
  const { live, context } = published();
  const waits: boolean[] = [];
  const results = await transform(
    {
      ...context,
      sandbox: failing(),
      pause: async () => void live.programs.clear(),
      setWaiting: (isWaiting) => void waits.push(isWaiting),
    },
    [eventOf('{"n":1}')],
  );
  expect(waits).toEqual([true, false]);
  expect(results!.map(texts)).toEqual([['{"n":1}']]);
});

function failing(): FakeSandbox {
  const sandbox = new FakeSandbox();
  sandbox.failure = new SandboxUnavailable("none");
  return sandbox;
}

test("events without code are sent as they came, and no sandbox runs", async () => {
  const live = new FakeLive();
  live.putDestination("one");
  const sandbox = failing();
  const results = await transform(contextOf(live, sandbox), [eventOf('{"a":1}'), eventOf("{}")]);
  expect(results!.map(texts)).toEqual([['{"a":1}'], ["{}"]]);
  const [output] = (results![0] as { outputs: Output[] }).outputs;
  expect([output!.byCode, output!.live]).toEqual([false, undefined]);
});

test("an event that its source drops goes to no destination, and runs through no code", async () => {
  const { sandbox, context } = published();
  const dropped = eventOf("{}");
  Object.assign(dropped.input.event, { isDropped: true });
  const results = await transform(context, [dropped, eventOf('{"n":2}'), dropped]);
  const none = { outcome: { kind: "dropped" } } as const;
  expect(results!.map(texts)).toEqual([none, ['{"n":2}'], none]);
  expect(sandbox.batches).toEqual([{ programId: "v1", events: 1 }]);
  expect(await transform(context, [dropped])).toEqual([none]);
  expect(sandbox.batches).toHaveLength(1);
});

test("a refused output is sent again unchanged by the code that made it, and made anew by other code", async () => {
  const { live, sandbox, context } = published();
  const letter = (stage: string, programId?: string) => {
    const requeued = { stage, programId, text: '{"refused":1}', messageId: `${stage}${programId}` };
    return Object.assign(eventOf('{"n":1}'), { origin: { requeued } as never });
  };
  const made: [string, string?][] = [
    ["deliver", "v1"],
    ["deliver", "v0"],
    ["transform", "v1"],
    ["deliver"],
  ];
  const events = () => made.map((it) => letter(...it));
  const [sent, ...run] = (await transform(context, events()))!;
  expect(texts(sent)).toEqual(['{"refused":1}']);
  expect((sent as { outputs: Output[] }).outputs[0]!.live?.id).toBe("v1");
  expect(run.map(texts)).toEqual([['{"n":1}'], ['{"n":1}'], ['{"n":1}']]);
  expect(sandbox.batches).toEqual([{ programId: "v1", events: 3 }]);
  live.programs.clear();
  expect((await transform(context, events()))!.map(texts)).toEqual([
    ['{"n":1}'],
    ['{"n":1}'],
    ['{"n":1}'],
    ['{"refused":1}'],
  ]);
});

test("a stop ends a batch without results, before, during and after its run", async () => {
  const { context, sandbox } = published();
  const events = [eventOf("{}")];
  let runs = false;
  const isRunning = () => runs;
  expect(await transform({ ...context, isRunning }, events)).toBeUndefined();
  expect(sandbox.batches).toEqual([]);
  for (const ran of [undefined, [{ events: [] }]]) {
    runs = true;
    const unlessStopped = async <T>(_work: Promise<T>) => {
      runs = false;
      return ran as T | undefined;
    };
    expect(await transform({ ...context, isRunning, unlessStopped }, events)).toBeUndefined();
  }
  runs = true;
  const pauses: number[] = [];
  const pause = async (ms: number) => {
    pauses.push(ms);
    runs = false;
  };
  const waiting = { ...context, isRunning, sandbox: failing(), pause };
  expect(await transform(waiting, events)).toBeUndefined();
  expect(pauses).toHaveLength(1);
});

test("each further failure of the sandbox is followed by a longer pause, and is logged", async () => {
  const { context } = published();
  const pauses: number[] = [];
  const lines: unknown[] = [];
  let left = 5;
  const log = (level: string) => (fields: object, text: string) => {
    lines.push({ level, text, ...fields });
  };
  await transform(
    {
      ...context,
      sandbox: failing(),
      logger: { warn: log("warn"), error: log("error") } as never,
      clock: { random: () => 0.5 },
      isRunning: () => left > 0,
      pause: async (ms) => {
        pauses.push(ms);
        left -= 1;
      },
    },
    [eventOf("{}")],
  );
  expect(pauses).toEqual([1, 2, 3, 4, 5].map((failures) => retryDelayMs(failures, 0.5)));
  const text = "batch waits for the sandbox";
  const err = expect.any(SandboxUnavailable);
  expect(lines[0]).toEqual({ level: "warn", text, destinationId: "one", err });
});

test("a run without outcomes is an error after which the batch runs again", async () => {
  const { context, sandbox } = published();
  sandbox.outcomesMax = 0;
  const errors: unknown[] = [];
  const error = ({ err }: { err: Error }) => void errors.push(err.message);
  const results = await transform(
    {
      ...context,
      logger: { error } as never,
      pause: async () => {
        sandbox.outcomesMax = 1;
      },
    },
    [eventOf('{"n":1}'), eventOf('{"n":2}')],
  );
  expect(errors).toEqual(["Expected an outcome, got none"]);
  expect(results!.map(texts)).toEqual([['{"n":1}'], undefined]);
  expect(sandbox.batches).toHaveLength(2);
});

test("more outcomes than events are a broken invariant, not a reason to run again", async () => {
  const { context, sandbox } = published();
  sandbox.run = async () => [{ events: [] }, { events: [] }];
  const pause = async () => fail("Paused");
  await expect(transform({ ...context, pause }, [eventOf("{}")])).rejects.toThrow(
    "A batch has no more outcomes than events",
  );
});

test("code gets events without the members that only code may set, and each event's metadata", async () => {
  const { context, sandbox, live } = published();
  live.addSource();
  const seen: unknown[] = [];
  const removeOverrides = (event: Uint8Array) =>
    Buffer.from(Buffer.from(event).toString().replace("secret", "gone"));
  sandbox.codes.set("code", (event, metadata) => {
    seen.push([event, metadata.messageId, metadata.sourceName, metadata.destinationName]);
    return event;
  });
  const events = [eventOf('{"a":"secret"}', "m1"), eventOf("{}", "m2")];
  await transform({ ...context, removeOverrides }, events);
  expect(seen).toEqual([
    [{ a: "gone" }, "m1", "Source source", "To one"],
    [{}, "m2", "Source source", "To one"],
  ]);
});

test("lines of code are kept for the events that ran, with the ids of their messages", async () => {
  const { context, sandbox, live } = published();
  sandbox.outcomesMax = 2;
  const line = (text: string, event?: number) => ({ level: "info", text, event }) as LogLine;
  sandbox.logs = [line("load"), line("first", 0), line("second", 1), line("again later", 2)];
  const kept: unknown[] = [];
  const codeLogs = {
    room: (id: string) => (id === "transformation" ? { lines: 9, chars: 99 } : fail("Other code")),
    add: (
      program: unknown,
      destinationId: string,
      lines: LogLine[],
      idOf: (at: number) => string,
    ) => kept.push(program === live.program("one"), destinationId, ...lines, idOf(0), idOf(1)),
  };
  const events = ["m1", "m2", "m3"].map((id) => eventOf("{}", id));
  await transform({ ...context, codeLogs: codeLogs as never }, events);
  expect(kept).toEqual([
    ...[true, "one", line("load"), line("first", 0), line("second", 1), "m1", "m2"],
  ]);
});

test("the sandbox is given the same program for the same published code", async () => {
  const { context, sandbox, live } = published();
  const programs: unknown[] = [];
  const run = sandbox.run.bind(sandbox);
  sandbox.run = (program, ...rest) => {
    programs.push(program);
    return run(program, ...rest);
  };
  await transform(context, [eventOf("{}")]);
  await transform(context, [eventOf("{}")]);
  expect(programs[1]).toBe(programs[0]);
  expect(programs[0]).toMatchObject({ id: "v1", code: "code", workspaceId: "workspace" });
  live.publish("one", "code", "v2");
  await transform(context, [eventOf("{}")]);
  expect(programs[2]).toMatchObject({ id: "v2" });
});
