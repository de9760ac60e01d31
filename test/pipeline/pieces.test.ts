import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { DeliveryResult, DestinationKind } from "../../src/destinations/destination.ts";
import { latencies, latencyQuantile, rowOf } from "../../src/figures/row.ts";
import { systemClock } from "../../src/pipeline/clock.ts";
import { DeadLetters } from "../../src/pipeline/dead-letters/dead-letters.ts";
import { createRequeuedEvent } from "../../src/pipeline/dead-letters/letter-events.ts";
import { DeliveryQueue } from "../../src/pipeline/delivering/delivery-queue.ts";
import { DestinationClient } from "../../src/pipeline/delivering/destination-client.ts";
import { type Ledger, openLedger } from "../../src/pipeline/ledger/ledger.ts";
import { firstIdAt } from "../../src/pipeline/ledger/letter-keys.ts";
import type { StoredLetter } from "../../src/pipeline/model/dead-letter.ts";
import {
  createOutput,
  type Output,
  zeroOutputCounts,
} from "../../src/pipeline/model/lane-event.ts";
import type { Routes } from "../../src/pipeline/model/routes.ts";
import { HealthLogger } from "../../src/pipeline/monitoring/health-logger.ts";
import { LaneHistories } from "../../src/pipeline/monitoring/lane-history.ts";
import { DELIVERY_BYTES_MAX, LANE_IN_FLIGHT_EVENTS_MAX } from "../../src/settings/limits.ts";
import { until } from "../until.ts";
import { commitLetters, fail, laneEvent, laneMetrics } from "./doubles.ts";
import { numbersTo } from "./rig.ts";

/** Pieces of a lane, each by itself. */

const root = mkdtempSync(join(tmpdir(), "pixelmill-pieces-"));
afterAll(() => rmSync(root, { recursive: true }));
const logger = pino({ level: "silent" });
let directories = 0;

function letter(n: number, over: Partial<StoredLetter> = {}): StoredLetter {
  const id = Bun.randomUUIDv7("hex", n * 1_000);
  return {
    ...{ id, workspaceId: "w", destinationId: "d", sourceId: "s", messageId: "m", text: "{}" },
    ...{ stage: "deliver", reason: "Answered 500", attempts: 1, user: "u", type: "track" },
    ...{ receivedAt: 0, createdAt: n * 1_000 },
    ...over,
  };
}

/** A ledger that has these letters, counted and grouped as they were put. */
async function ledgerWith(letters: readonly StoredLetter[]): Promise<Ledger> {
  const ledger = openLedger(join(root, String(directories++)), logger);
  await commitLetters(ledger, letters);
  return ledger;
}

describe("dead letters", () => {
  test("dead letters are listed for their workspace only, on request by destination", async () => {
    const ledger = await ledgerWith([
      ...[letter(1), letter(2), letter(3, { destinationId: "e" })],
      letter(4, { workspaceId: "v", destinationId: "f" }),
    ]);
    const shown = new DeadLetters(
      () => [ledger],
      () => {},
      () => 10_000,
    );
    const groups = (workspaceId: string, destinationId?: string) =>
      shown
        .groups(workspaceId, destinationId)
        .map((it) => [it.workspaceId, it.destinationId, it.count]);
    expect(groups("w")).toEqual([
      ["w", "d", 2],
      ["w", "e", 1],
    ]);
    expect(groups("w", "e")).toEqual([["w", "e", 1]]);
    expect(groups("w", "f")).toEqual([]);
    expect(groups("v")).toEqual([["v", "f", 1]]);
    const { id: groupId } = shown.groups("w", "d")[0]!;
    const page = { groupId, count: 10 };
    const idsOf = (workspace: string, filter: object, before: number, count: number) =>
      shown.ids(workspace, filter, { after: "", before: firstIdAt(before), count }).ids;
    expect(shown.count("w", { groupId })).toBe(2);
    expect(shown.count("v", { groupId })).toBe(0);
    expect(shown.find("w", page).letters.length).toBe(2);
    expect(shown.find("v", page).letters).toEqual([]);
    expect(shown.find("w", { destinationId: "e", count: 10 }).letters.length).toBe(1);
    expect(shown.find("v", { destinationId: "e", count: 10 }).letters).toEqual([]);
    expect(idsOf("w", { groupId }, 10_000, 10).length).toBe(2);
    expect(idsOf("w", { groupId }, 2_000, 10).length).toBe(1);
    expect(idsOf("w", { destinationId: "d" }, 10_000, 1).length).toBe(1);
    expect(idsOf("v", { destinationId: "d" }, 10_000, 10)).toEqual([]);
    expect(idsOf("w", {}, 10_000, 10).length).toBe(3);
    await ledger.close();
  });

  test("dead letters of a removed lane stay unless they are removed with it", async () => {
    const ledger = await ledgerWith([letter(1), letter(2), letter(3, { destinationId: "e" })]);
    expect(await ledger.remove("d", false)).toBe(0);
    expect(ledger.lane("d")).toBeUndefined();
    expect(ledger.letters.countOf("w", { destinationId: "d" })).toBe(2);
    expect(await ledger.remove("d", true)).toBe(2);
    expect(ledger.letters.countOf("w")).toBe(1);
    expect(ledger.destinations()).toEqual(new Set(["e"]));
    await ledger.close();
  });

  test.each([
    ['{"userId":"u","anonymousId":"a"}', "u", "a"],
    ['{"userId":9007199254740993,"anonymousId":true}', "9007199254740993", "true"],
    ["null", "", ""],
    ["5", "", ""],
    ['"text"', "", ""],
    ["no JSON", "", ""],
  ])(
    "dead letters are requeued with the ids of the received event: %s",
    (text, userId, anonymousId) => {
      for (const over of [{ text }, { text: "{}", original: text }]) {
        const { input } = createRequeuedEvent({ letter: letter(1, over), replayedAt: 7 });
        expect(input.event).toMatchObject({ userId, anonymousId });
        expect(Buffer.from(input.event.json).toString()).toBe(text);
      }
    },
  );
});

/** A receiver that answers when the test says so. */
function receiverOf() {
  const calls: string[] = [];
  const running: PromiseWithResolvers<DeliveryResult>[] = [];
  let opened = 0;
  const kind = {
    kind: "test",
    secretKeys: [],
    open() {
      const name = ++opened;
      calls.push(`open ${name}`);
      return {
        deliver() {
          running.push(Promise.withResolvers());
          return running.at(-1)!.promise;
        },
        async close() {
          calls.push(`close ${name}`);
        },
      };
    },
  } as unknown as DestinationKind;
  const destination = {
    ...{ id: "d", workspaceId: "w", name: "D", type: "test", enabled: true },
    ...{ config: {}, createdAt: 0, updatedAt: 0 },
  };
  let now = 0;
  const clock = { ...systemClock, elapsed: () => now };
  const recoveredAt: number[] = [];
  const onRecovery = () => recoveredAt.push(now);
  const parts = {
    ...{ clock, metrics: laneMetrics(), logger },
    ...{ labels: { destination: "d", name: "D", kind: "test" }, earlierFailure: {} },
    health: new HealthLogger({ clock, logger, destination: () => destination }),
  };
  const receiver = new DestinationClient(kind, destination, parts, onRecovery);
  const answer = async (verdict: DeliveryResult) => {
    const delivery = receiver.deliver([]);
    await Bun.sleep(0);
    running.pop()!.resolve(verdict);
    return await delivery;
  };
  const pass = (ms: number) => {
    now += ms;
  };
  const change = (n: number) => receiver.update({ ...destination, config: { n } });
  return { receiver, recoveredAt, calls, running, answer, pass, change };
}

const delivered: DeliveryResult = { kind: "delivered" };
const retry: DeliveryResult = { kind: "retry", reason: "Answered 503" };

describe("destination client", () => {
  test("a destination stays open between deliveries, that of an old config until its deliveries end", async () => {
    const { receiver, calls, running, answer, change } = receiverOf();
    await answer(delivered);
    await answer(delivered);
    expect(calls).toEqual(["open 1"]);
    change(0);
    change(0);
    await until(() => calls.length === 2);
    expect(calls).toEqual(["open 1", "close 1"]);
    const [first, second] = [receiver.deliver([]), receiver.deliver([])];
    change(1);
    running[0]!.resolve(delivered);
    await first;
    await answer(delivered);
    expect(calls.slice(2)).toEqual(["open 2", "open 3"]);
    running[1]!.resolve(delivered);
    await second;
    await until(() => calls.length === 5);
    expect(calls.slice(4)).toEqual(["close 2"]);
    await receiver.close();
    expect(calls.slice(5)).toEqual(["close 3"]);
  });

  test("an answer is a recovery after two seconds without one", async () => {
    const { receiver, recoveredAt, answer, pass } = receiverOf();
    await answer(retry);
    expect(receiver.failure).toMatchObject({ since: 0, at: 0, reason: "Answered 503" });
    pass(1_999);
    await answer(retry);
    expect(receiver.failure).toMatchObject({ since: 0, at: 1_999, reason: "Answered 503" });
    await answer(delivered);
    expect(recoveredAt).toEqual([]);
    expect(receiver.failure).toBeUndefined();
    await answer(retry);
    pass(2_000);
    await answer({ kind: "rejected", reason: "Answered 400" });
    expect(recoveredAt).toEqual([3_999]);
    await receiver.close();
  });
});

test("the log line of a recovery has the seconds of the outage", () => {
  const told: number[] = [];
  const write = (line: string) => void told.push(JSON.parse(line).seconds);
  let now = 0;
  const announcements = new HealthLogger({
    ...{ clock: { elapsed: () => now }, logger: pino({}, { write }) },
    destination: () => ({ id: "d", name: "D", workspaceId: "w" }),
  });
  announcements.recordAttempt(retry);
  now = 5_000_000;
  announcements.recordAttempt(retry);
  now = 7_000_000;
  announcements.recordAttempt(delivered);
  expect(told.slice(1)).toEqual([5_000, 7_000]);
});

test("an attempt longer than the last histogram bucket counts in that bucket", () => {
  const history = new LaneHistories().get("d");
  history.recordAttempt(false, 1e9, 1e12);
  const row = rowOf(history.minute(Math.floor(1e12 / 60_000) * 60_000)!.counters);
  expect(latencies(row)).toBe(1);
  expect(latencyQuantile(row, 0.5)).toBe(Math.round(1.5 ** 27));
});

const routes = {} as Routes;

/** A queue that delivers outputs of these sizes to these verdicts, then to everything. */
function queueOf({ batchSize = 100, verdicts = [] as DeliveryResult[], isFilling = false } = {}) {
  const deliveries: string[] = [];
  const ended: string[] = [];
  const slept: number[] = [];
  let isRunning = true;
  let now = 0;
  const queue = new DeliveryQueue({
    batchKey: () => "",
    ...{ batchSize: () => batchSize, retryWindowMs: 1e12 },
    clock: {
      ...{ elapsed: () => now, age: () => 0, random: () => 1 },
      async sleep(ms) {
        slept.push(ms);
        now += ms;
      },
    },
    ...{ isRunning: () => isRunning, expectsMore: () => isFilling, refresh() {} },
    ...{ routes: () => routes, decide: () => ({ kind: "send" }) as const },
    ...{ outputCounts: zeroOutputCounts(), failure: () => undefined, fail },
    settle: (outputs, { kind }) => void ended.push(...outputs.map((it) => `${nameOf(it)} ${kind}`)),
    async deliver(outputs) {
      deliveries.push(outputs.map(nameOf).join(""));
      return verdicts.shift() ?? delivered;
    },
  });
  const push = (...names: string[]) => {
    for (const name of names) {
      queue.push(createOutput(laneEvent({ checkedRoutes: routes }), Buffer.from(name)));
    }
  };
  const stop = () => {
    isRunning = false;
  };
  return { queue, push, deliveries, ended, slept, stop };
}
const nameOf = ({ bytes }: Output) => String.fromCharCode(bytes[0]!);

describe("delivery queue", () => {
  test("a delivery takes outputs that are pushed together, up to the batch size", async () => {
    const { queue, push, deliveries, ended } = queueOf({ batchSize: 3 });
    push(..."abcdefgh");
    expect(queue).toMatchObject({ load: 8, isTrying: false });
    await queue.ended();
    expect(deliveries).toEqual(["abc", "def", "gh"]);
    expect(ended).toEqual([..."abcdefgh"].map((name) => `${name} delivered`));
    expect(queue).toMatchObject({ load: 0, isTrying: false, hasRoom: false });
    push("i");
    await queue.ended();
    expect(deliveries.at(-1)).toBe("i");
  });

  test("a delivery takes a bounded number of bytes, and one output of any size", async () => {
    const { queue, push, deliveries } = queueOf();
    const half = DELIVERY_BYTES_MAX / 2;
    const large = (name: string, bytes: number) => name.padEnd(bytes, ".");
    push(large("a", half), large("b", half), large("c", half), large("d", half + 1), "e");
    push(large("f", DELIVERY_BYTES_MAX + 1), "g");
    await queue.ended();
    expect(deliveries).toEqual(["ab", "c", "de", "f", "g"]);
  });

  test("after two failures in a row one output from elsewhere is tried, and a success makes deliveries grow", async () => {
    const { queue, push, deliveries, ended, slept } = queueOf({ verdicts: [retry, retry] });
    push(..."abcdefghijkl");
    await queue.ended();
    expect(deliveries).toEqual(["abcdefghijkl", "abcdefghijkl", "a", "bcdefg", "hij", "k", "l"]);
    expect(slept.length).toBe(2);
    expect(ended.length).toBe(12);
  });

  test("a rejected delivery is divided until an event is rejected alone, which is given up", async () => {
    const rejected: DeliveryResult = { kind: "rejected", reason: "Answered 400" };
    const verdicts = [rejected, rejected, delivered, rejected];
    const { queue, push, deliveries, ended, slept } = queueOf({ verdicts });
    push(..."abcd");
    await queue.ended();
    expect(deliveries).toEqual(["abcd", "ab", "a", "b", "cd"]);
    expect(ended).toEqual(["a delivered", "b dead-letter", "c delivered", "d delivered"]);
    expect(slept.length).toBe(0);
  });

  test("a delivery waits for more outputs while they are expected, unless it is full", async () => {
    const { queue, push, deliveries, slept } = queueOf({ batchSize: 2, isFilling: true });
    push("a", "b", "c");
    await queue.ended();
    expect(deliveries).toEqual(["ab", "c"]);
    expect(slept).toEqual([100]);
  });

  test("a stopped lane delivers no more, and its unsettled outputs stay pending", async () => {
    const { queue, push, deliveries, ended, stop } = queueOf();
    push("a");
    stop();
    await queue.ended();
    expect({ deliveries, ended }).toEqual({ deliveries: [], ended: [] });
  });
});

test("a queue whose attempts fail has the highest load, and no room", async () => {
  const sleeps: PromiseWithResolvers<void>[] = [];
  const answers: PromiseWithResolvers<DeliveryResult>[] = [];
  let now = 0;
  const queue = new DeliveryQueue({
    batchKey: () => "",
    ...{ batchSize: () => 2, retryWindowMs: 1e12 },
    clock: {
      ...{ elapsed: () => now, age: () => 0, random: () => 1 },
      sleep() {
        sleeps.push(Promise.withResolvers());
        return sleeps.at(-1)!.promise;
      },
    },
    ...{ isRunning: () => true, expectsMore: () => false, refresh() {} },
    ...{ routes: () => routes, decide: () => ({ kind: "send" }) as const, settle() {} },
    ...{ outputCounts: zeroOutputCounts(), failure: () => undefined, fail },
    deliver() {
      answers.push(Promise.withResolvers());
      return answers.at(-1)!.promise;
    },
  });
  const push = () =>
    queue.push(createOutput(laneEvent({ checkedRoutes: routes }), Buffer.from("x")));
  const answer = async (result: DeliveryResult) => {
    answers.at(-1)!.resolve(result);
    await Bun.sleep(1);
  };
  for (const _ of numbersTo(3)) push();
  await Bun.sleep(0);
  expect(queue).toMatchObject({ load: 3, isTrying: true, hasRoom: true });
  expect(queue.resume()).toBe(false);
  await answer(retry);
  expect(queue).toMatchObject({ load: 3 + LANE_IN_FLIGHT_EVENTS_MAX, hasRoom: false });
  expect(queue.resume()).toBe(true);
  now += 1_000;
  sleeps.at(-1)!.resolve();
  await Bun.sleep(0);
  expect(queue.resume()).toBe(false);
  await answer({ kind: "retry", reason: "Later", afterMs: 5 });
  expect(queue.resume()).toBe(false);
  now += 1_000;
  sleeps.at(-1)!.resolve();
  await Bun.sleep(1);
  await answer(delivered);
  while (queue.load > 0) await answer(delivered);
  await queue.ended();
});
