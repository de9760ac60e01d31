import { expect, test } from "bun:test";
import { pino } from "pino";
import { InvariantError } from "../../src/assert.ts";
import { Notifier, systemClock } from "../../src/pipeline/clock.ts";
import { BatchLoop, type BatchLoopParts } from "../../src/pipeline/lane/batch-loop.ts";
import { FAULT_PAUSE_MS, TRANSFORM_BATCH_EVENTS } from "../../src/pipeline/limits.ts";
import type { LaneEvent } from "../../src/pipeline/model/lane-event.ts";
import { CodeLogs } from "../../src/pipeline/monitoring/code-logs.ts";
import { FakeLive, FakeSandbox, laneEvent } from "./doubles.ts";

interface SceneOptions {
  /** Number of events of each dispatch that fit in memory, one each; then all do. */
  rooms?: number[];
  /** Fails the dispatch. */
  dispatchError?: Error;
  isWaitingForSandbox?: boolean;
  isBatching?: boolean;
  isMemoryFull?: boolean;
  roomEvents?: number;
  isRecovering?: boolean;
}

/**
 * A loop that takes these batches of numbered events, fails to, or lacks the memory to; `calls` is
 * what it did.
 */
function startLoop(takings: (number[] | Error | "no memory")[], options: SceneOptions = {}) {
  const calls: string[] = [];
  const call = (text: string) => void calls.push(text);
  const { rooms = [], roomEvents = 10 * TRANSFORM_BATCH_EVENTS } = options;
  let { isRecovering = false } = options;
  let isRunning = true;
  const live = new FakeLive();
  live.putDestination("one");
  live.publish("one", "code", "v1");
  const sandbox = new FakeSandbox();
  sandbox.codes.set("code", (event) => event);
  const work = new Notifier();
  const numbers = new Map<LaneEvent, number>();
  const numbersOf = (events: readonly LaneEvent[]) => events.map((it) => numbers.get(it)).join();
  const unrun: LaneEvent[] = [];
  const created = (n: number) => {
    const event = laneEvent();
    numbers.set(event, n);
    return event;
  };
  const stop = () => {
    isRunning = false;
    work.notify();
  };
  const parts = {
    memory: { room: { events: roomEvents }, isFull: options.isMemoryFull ?? false },
    scheduler: {
      lacksMemory: false,
      get hasUnrun() {
        return unrun.length > 0;
      },
      async take() {
        const next = unrun.length > 0 ? unrun.splice(0) : takings.shift();
        if (next instanceof Error) throw next;
        this.lacksMemory = next === "no memory";
        if (next === "no memory") return [];
        const events = next?.map((it) => (typeof it === "number" ? created(it) : it)) ?? [];
        call(`take ${numbersOf(events)}`);
        return events;
      },
      putBack: (events: readonly LaneEvent[]) => void unrun.unshift(...events),
      putBackLast: (events: readonly LaneEvent[]) => void unrun.push(...events),
      size: { noteOutputBytes: (bytes: number) => call(`${bytes} bytes`) },
    },
    dispatch(events: readonly LaneEvent[]) {
      if (options.dispatchError !== undefined) throw options.dispatchError;
      const room = rooms.shift() ?? events.length;
      call(`dispatch ${numbersOf(events.slice(0, room))}`);
      return { rest: events.slice(room), bytesPerEvent: 7 };
    },
    delivery: {
      batching: options.isBatching ? { flush: () => call("flush batch") } : undefined,
      flush: () => call("flush"),
      expectMore: () => call("expect more"),
    },
    transform: {
      ...{ live, sandbox, codeLogs: new CodeLogs(systemClock) },
      destination: () => live.destinations.get("one")!,
      isRunning: () => isRunning,
      clock: { random: () => 0 },
      removeOverrides: (event: Uint8Array) => event,
      pause: async (ms: number) => call(`pause ${ms}`),
      unlessStopped: async <T>(running: Promise<T>) => running,
      setWaiting() {},
      onRun() {},
    },
    labels: { destination: "one", name: "One", kind: "webhook" },
    logger: pino({}, { write: (line: string) => call(`log ${JSON.parse(line).msg}`) }),
    work,
    decide: (events: readonly LaneEvent[]) => events.map(() => ({ kind: "send" })),
    isRecovering: () => isRecovering,
    endRecovery() {
      isRecovering = false;
      call("end recovery");
    },
    isWaitingForSandbox: () => options.isWaitingForSandbox ?? false,
    fail(error: Error) {
      call(`fail ${error.message}`);
      stop();
    },
  };
  const loop = new BatchLoop(parts as unknown as BatchLoopParts);
  const ended = loop.run();
  return {
    ...{ loop, calls, work, sandbox },
    /** Lets the loop do what it can, and returns what it did meanwhile. */
    async proceed() {
      await new Promise((resolve) => setImmediate(resolve));
      return calls.splice(0);
    },
    async stop() {
      stop();
      await ended;
    },
  };
}

const isOf = (kind: RegExp) => (text: string) => kind.test(text);

test("a batch is taken while the one before runs, and the outputs keep the order of events", async () => {
  const scene = startLoop([[1], [2], [3]]);
  const first = Promise.withResolvers<void>();
  scene.sandbox.held.push(first.promise);
  expect(await scene.proceed()).toEqual(["take 1", "expect more", "take 2", "expect more"]);
  first.resolve();
  const rest = await scene.proceed();
  expect(rest.filter(isOf(/dispatch|bytes/))).toEqual(
    [1, 2, 3].flatMap((n) => [`dispatch ${n}`, "7 bytes"]),
  );
  await scene.stop();
});

test("a batch waits for the one before while the lane has little room", async () => {
  const scene = startLoop([[1], [2]], { roomEvents: TRANSFORM_BATCH_EVENTS - 1 });
  const first = Promise.withResolvers<void>();
  scene.sandbox.held.push(first.promise);
  expect((await scene.proceed()).filter(isOf(/take/))).toEqual(["take 1"]);
  first.resolve();
  const done = (await scene.proceed()).filter(isOf(/take \d|dispatch/));
  expect(done).toEqual(["dispatch 1", "take 2", "dispatch 2"]);
  await scene.stop();
});

test("events whose outputs did not fit run again before the later ones, which are put back", async () => {
  const scene = startLoop([[1, 2], [3], [4]], { rooms: [1] });
  const done = (await scene.proceed()).filter(isOf(/take \d|dispatch/));
  expect(done).toEqual([
    ...["take 1,2", "take 3", "dispatch 1", "take 2,3", "take 4", "dispatch 2,3", "dispatch 4"],
  ]);
  await scene.stop();
});

test("an idle loop sends what waits, and goes on when it is notified", async () => {
  const takings = [[1]];
  const scene = startLoop(takings);
  expect((await scene.proceed()).filter(isOf(/take|flush/))).toEqual(["take 1", "take ", "flush"]);
  expect(scene.loop.isWaiting).toBe(true);
  takings.push([2]);
  expect(await scene.proceed()).toEqual([]);
  scene.work.notify();
  expect((await scene.proceed()).filter(isOf(/dispatch/))).toEqual(["dispatch 2"]);
  await scene.stop();
  expect(scene.loop.isWaiting).toBe(false);
});

test("events that did not fit wake an idle loop", async () => {
  const scene = startLoop([[1, 2]], { rooms: [1] });
  const first = Promise.withResolvers<void>();
  scene.sandbox.held.push(first.promise);
  await scene.proceed();
  expect(scene.loop.isWaiting).toBe(true);
  first.resolve();
  const done = (await scene.proceed()).filter(isOf(/take \d|dispatch/));
  expect(done).toEqual(["dispatch 1", "take 2", "dispatch 2"]);
  await scene.stop();
});

test.each([
  ["expected while batches run", {}, ["expect more"]],
  ["not expected while a batch waits for a guest", { isWaitingForSandbox: true }, []],
])("more events are %s", async (_, options, expected) => {
  const scene = startLoop([[1]], options);
  expect((await scene.proceed()).filter(isOf(/expect/))).toEqual(expected);
  await scene.stop();
});

test.each([
  ["is kept while there is memory", { isBatching: true }, ["dispatch 1"]],
  [
    "is sent when memory is full",
    { isBatching: true, isMemoryFull: true },
    ["dispatch 1", "flush batch"],
  ],
  [
    "is sent when its events are gathered again",
    { isBatching: true, isRecovering: true },
    ["dispatch 1", "flush batch", "end recovery"],
  ],
  ["is never sent for a kind that gathers none", { isMemoryFull: true }, ["dispatch 1"]],
  [
    "holds up no recovery of a kind that gathers none",
    { isRecovering: true },
    ["end recovery", "dispatch 1"],
  ],
])("a gathered batch %s", async (_, options, expected) => {
  const scene = startLoop([[1]], options);
  const first = Promise.withResolvers<void>();
  scene.sandbox.held.push(first.promise);
  const before = await scene.proceed();
  first.resolve();
  const done = [...before, ...(await scene.proceed())];
  expect(done.filter(isOf(/dispatch|flush batch|recovery/))).toEqual(expected);
  await scene.stop();
});

test("a recovery that lacks memory ends only when its other events are taken", async () => {
  const scene = startLoop([[1], "no memory", [2]], { isBatching: true, isRecovering: true });
  const before = await scene.proceed();
  scene.work.notify();
  const done = [...before, ...(await scene.proceed())];
  expect(done.filter(isOf(/dispatch|flush batch|recovery/))).toEqual([
    ...["dispatch 1", "flush batch", "dispatch 2", "flush batch", "end recovery"],
  ]);
  await scene.stop();
});

test("a recovery ends only when events whose outputs did not fit were run again", async () => {
  const options = { isBatching: true, isRecovering: true, rooms: [1] };
  const scene = startLoop([[1, 2]], options);
  const first = Promise.withResolvers<void>();
  scene.sandbox.held.push(first.promise);
  const before = await scene.proceed();
  first.resolve();
  const done = [...before, ...(await scene.proceed())];
  expect(done.filter(isOf(/dispatch|flush batch|recovery/))).toEqual([
    ...["dispatch 1", "flush batch", "dispatch 2", "flush batch", "end recovery"],
  ]);
  await scene.stop();
});

test("an error is logged once however often it returns, and a pause follows each time", async () => {
  const error = new Error("The log cannot be read");
  const scene = startLoop([error, error, [1]]);
  const done = (await scene.proceed()).filter(isOf(/log|pause|dispatch/));
  const pause = `pause ${FAULT_PAUSE_MS}`;
  expect(done).toEqual(["log batch failed; retrying", pause, pause, "dispatch 1"]);
  await scene.stop();
});

test("a broken invariant stops the lane, of the taking and of the dispatch", async () => {
  const broken = new InvariantError("broken");
  const taking = startLoop([broken, [1]]);
  expect(await taking.proceed()).toEqual(["fail broken"]);
  const dispatching = startLoop([[1], [2]], {
    dispatchError: new Error("half of it is passed on"),
  });
  const done = (await dispatching.proceed()).filter(isOf(/fail|log|bytes/));
  expect(done).toEqual(["fail half of it is passed on"]);
  await Promise.all([taking.stop(), dispatching.stop()]);
});

test("a loop that stops waits for its last batch, and dispatches nothing of it", async () => {
  const scene = startLoop([[1]]);
  const first = Promise.withResolvers<void>();
  scene.sandbox.held.push(first.promise);
  await scene.proceed();
  let isOver = false;
  const stopped = scene.stop().then(() => {
    isOver = true;
  });
  expect((await scene.proceed()).filter(isOf(/dispatch/))).toEqual([]);
  expect(isOver).toBe(false);
  first.resolve();
  await stopped;
  expect(scene.calls.filter(isOf(/dispatch/))).toEqual([]);
});
