import { describe, expect, spyOn, test } from "bun:test";
import { assert, InvariantError } from "../../src/assert.ts";
import { PartitionRunner } from "../../src/cluster/membership/partition-runner.ts";
import { LeaderFailed } from "../../src/cluster/topics/fetch-answer.ts";
import { listeningLogger, quiet, until } from "../log/support.ts";

/** A runner whose starts and stops wait for `pass` or `fail`, in the order of the calls. */
function manualRunner() {
  const calls: string[] = [];
  const waiting: PromiseWithResolvers<void>[] = [];
  const call = (what: string) => (partition: number) => {
    calls.push(`${what} ${partition}`);
    const gate = Promise.withResolvers<void>();
    waiting.push(gate);
    return gate.promise;
  };
  const { logger, lines } = listeningLogger();
  const runner = new PartitionRunner({ start: call("open"), stop: call("close"), logger });
  const tick = () => Bun.sleep(0);
  return {
    ...{ runner, calls, lines },
    async pass() {
      waiting.shift()!.resolve();
      await tick();
    },
    async fail(error = new Error("No")) {
      waiting.shift()!.reject(error);
      await tick();
    },
  };
}

describe("the partitions of a node", () => {
  test("are opened when assigned and closed when revoked", async () => {
    const calls: string[] = [];
    const runner = new PartitionRunner({
      start: async (partition) => void calls.push(`open ${partition}`),
      stop: async (partition) => void calls.push(`close ${partition}`),
      logger: quiet,
    });
    await runner.assign([2, 1]);
    expect(runner.assigned()).toEqual([1, 2]);
    await runner.assign([2, 3]);
    expect(runner.assigned()).toEqual([2, 3]);
    await runner.assign([]);
    expect(calls).toEqual(["open 2", "open 1", "close 1", "open 3", "close 2", "close 3"]);
  });

  test("that are assigned again keep running", async () => {
    const { runner, calls, pass } = manualRunner();
    await runner.assign([1]);
    await pass();
    await runner.assign([1]);
    expect(calls).toEqual(["open 1"]);
  });

  test("that are revoked during their opening are closed afterwards", async () => {
    const { runner, calls, pass } = manualRunner();
    await runner.assign([1]);
    let isDone = false;
    const done = runner.assign([]).then(() => {
      isDone = true;
    });
    expect(calls).toEqual(["open 1"]);
    await pass();
    expect(calls).toEqual(["open 1", "close 1"]);
    expect(isDone).toBe(false);
    await pass();
    await done;
  });

  test("that are assigned during their closing are opened afterwards", async () => {
    const { runner, calls, pass } = manualRunner();
    await runner.assign([1]);
    await pass();
    const done = runner.assign([]);
    await runner.assign([1]);
    expect(calls).toEqual(["open 1", "close 1"]);
    await pass();
    expect(calls).toEqual(["open 1", "close 1", "open 1"]);
    await pass();
    await done;
  });

  test("do not wait for each other", async () => {
    const { runner, calls } = manualRunner();
    await runner.assign([1, 2]);
    expect(calls).toEqual(["open 1", "open 2"]);
  });

  test("are retried until they open", async () => {
    const { runner, calls, lines, fail, pass } = manualRunner();
    await runner.assign([1]);
    await fail();
    await until(() => calls.length === 2);
    await pass();
    expect(calls).toEqual(["open 1", "open 1"]);
    expect(lines.map(({ partition, msg }) => [partition, msg])).toEqual([
      [1, "partition start failed, retrying"],
    ]);
  });

  test("are named with the reason while they are assigned and do not run", async () => {
    const { runner, calls, pass, fail } = manualRunner();
    const soon = () => performance.now() + 1_000;
    const late = () => performance.now() + 6_000;
    await runner.assign([1, 2]);
    expect(runner.stopped(soon())).toEqual([]);
    const reason = "it has not started within 5 s";
    expect(runner.stopped(late())).toEqual([
      { partition: 1, reason },
      { partition: 2, reason },
    ]);
    await fail();
    await pass();
    expect(runner.stopped(late())).toEqual([{ partition: 1, reason: "No" }]);
    await until(() => calls.length === 3);
    const cause = Object.assign(new Error("Listing failed."), { code: "PLT_KFK_MULTIPLE" });
    await fail(new LeaderFailed("b:9092", "Listing failed.", cause));
    const ofLeader = "broker b:9092, which leads, does not answer this node";
    expect(runner.stopped(late())).toEqual([{ partition: 1, reason: ofLeader }]);
    await until(() => calls.length === 4);
    await pass();
    expect(runner.stopped(late())).toEqual([]);
    runner.restart(2);
    await pass();
    expect(runner.stopped(late())).toEqual([{ partition: 2, reason }]);
  });

  test("are not closed if they were never opened", async () => {
    const { runner, calls, fail } = manualRunner();
    await runner.assign([1]);
    await fail();
    await runner.assign([]);
    expect(calls).toEqual(["open 1"]);
    expect(runner.assigned()).toEqual([]);
  });

  test("count as closed when that fails", async () => {
    const { runner, calls, pass, fail } = manualRunner();
    await runner.assign([1]);
    await pass();
    const done = runner.assign([]);
    await fail();
    await done;
    await runner.assign([1]);
    expect(calls).toEqual(["open 1", "close 1", "open 1"]);
  });

  test("that are restarted are closed without draining and opened again", async () => {
    const calls: string[] = [];
    const runner = new PartitionRunner({
      start: async (partition) => void calls.push(`open ${partition}`),
      stop: async (partition, drain) => void calls.push(`close ${partition}, drain ${drain}`),
      logger: quiet,
    });
    await runner.assign([1]);
    await until(() => runner.isSettled(1));
    runner.restart(1);
    await until(() => calls.length === 3);
    await runner.assign([]);
    runner.restart(1);
    expect(calls).toEqual(["open 1", "close 1, drain false", "open 1", "close 1, drain true"]);
  });

  test("that this node refuses are abandoned when they are revoked, and closed without draining", async () => {
    const calls: string[] = [];
    const opening = Promise.withResolvers<void>();
    const runner = new PartitionRunner({
      start: (partition) => (partition === 3 ? opening.promise : Promise.resolve()),
      stop: async (partition, drain) => void calls.push(`close ${partition}, drain ${drain}`),
      abandon(partition) {
        calls.push(`abandon ${partition}`);
        if (partition === 3) opening.reject(new Error("The ledger is abandoned"));
      },
      logger: quiet,
    });
    await runner.assign([1, 2, 3, 4]);
    await until(() => runner.isSettled(4));
    // Partition 2 stays here, and partition 3 is still being opened.
    await runner.assign([2], new Set([1, 2, 3]));
    expect(calls.sort()).toEqual([
      "abandon 1",
      "abandon 3",
      "close 1, drain false",
      "close 4, drain true",
    ]);
    expect(runner.assigned()).toEqual([2]);
  });

  test("that are restarted later are opened after a pause, or once they are assigned anew", async () => {
    const { runner, calls, pass } = manualRunner();
    runner.restart(1);
    await runner.assign([2, 1]);
    expect([runner.running(), runner.isSettled(1)]).toEqual([[], false]);
    await pass();
    await pass();
    expect([runner.running(), runner.isSettled(1)]).toEqual([[1, 2], true]);
    runner.restart(1, 60_000);
    await pass();
    expect(calls).toEqual(["open 2", "open 1", "close 1"]);
    expect([runner.running(), runner.isSettled(1)]).toEqual([[2], false]);
    await runner.assign([1, 2]);
    await Bun.sleep(0);
    expect(calls.slice(3)).toEqual(["open 1"]);
    await pass();
    expect([runner.running(), runner.isSettled(1)]).toEqual([[1, 2], true]);
    // A partition that is taken during the pause is not opened again.
    runner.restart(2, 60_000);
    await pass();
    await runner.assign([1]);
    expect(calls.slice(4)).toEqual(["close 2"]);
    expect([runner.assigned(), runner.running()]).toEqual([[1], [1]]);
  });

  test("of a closed node are closed without draining, and none is opened", async () => {
    const calls: string[] = [];
    const runner = new PartitionRunner({
      start: async (partition) => void calls.push(`open ${partition}`),
      stop: async (partition, drain) => void calls.push(`close ${partition}, drain ${drain}`),
      logger: quiet,
    });
    await runner.assign([1]);
    await until(() => runner.isSettled(1));
    await runner.close();
    await runner.assign([1, 2]);
    expect(calls).toEqual(["open 1", "close 1, drain false"]);
    expect([runner.assigned(), runner.running()]).toEqual([[], []]);
  });

  test("are late once they have not run for 5 s", async () => {
    const { runner } = manualRunner();
    const clock = spyOn(performance, "now").mockReturnValue(1_000);
    await runner.assign([1]);
    clock.mockRestore();
    expect(runner.stopped(5_999)).toEqual([]);
    expect(runner.stopped(6_000)).toHaveLength(1);
  });

  test("that are restarted during their opening are closed afterwards, and reopened", async () => {
    const { runner, calls, pass } = manualRunner();
    await runner.assign([1]);
    runner.restart(1);
    expect(runner.isSettled(1)).toBe(false);
    await pass();
    await pass();
    await until(() => calls.length === 3);
    expect(calls).toEqual(["open 1", "close 1", "open 1"]);
  });

  test("stay stopped after a broken invariant, which is a failure until they are taken", async () => {
    const { logger, lines } = listeningLogger();
    let starts = 0;
    const runner = new PartitionRunner({
      async start() {
        starts += 1;
        assert(starts > 1, "It holds");
      },
      async stop() {},
      logger,
    });
    await runner.assign([3]);
    await until(() => lines.length === 1);
    await runner.assign([3]);
    expect(starts).toBe(1);
    expect(runner.failure()).toBe("Partition 3 has stopped: Broken invariant: It holds");
    await runner.assign([]);
    await runner.assign([3]);
    await until(() => runner.isSettled(3));
    expect(runner.failure()).toBeUndefined();
  });

  test("that a broken invariant stopped have no earlier failure when they are assigned again", async () => {
    const { runner, calls, fail } = manualRunner();
    await runner.assign([1]);
    await fail();
    await runner.assign([1]);
    await until(() => calls.length === 2);
    await fail(new InvariantError("It holds"));
    expect(runner.cannotStart(1)).toBe(true);
    await runner.assign([]);
    expect(runner.cannotStart(1)).toBe(false);
    await runner.assign([1]);
    expect(calls).toEqual(["open 1", "open 1", "open 1"]);
    expect(runner.stopped(performance.now() + 6_000)).toEqual([
      { partition: 1, reason: "it has not started within 5 s" },
    ]);
  });
});
