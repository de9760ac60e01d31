import { describe, expect, test } from "bun:test";
import { PartitionRunner } from "../../src/cluster/membership/partition-runner.ts";
import { listeningLogger, quiet, until } from "../log/support.ts";

/** Turns whose calls wait until they are let through, in the order in which they come. */
function waitingTurns() {
  const calls: string[] = [];
  const waiting: PromiseWithResolvers<void>[] = [];
  const call = (what: string) => (partition: number) => {
    calls.push(`${what} ${partition}`);
    const gate = Promise.withResolvers<void>();
    waiting.push(gate);
    return gate.promise;
  };
  const { logger, lines } = listeningLogger();
  const turns = new PartitionRunner({ onAssigned: call("open"), onRevoked: call("close"), logger });
  const tick = () => Bun.sleep(0);
  return {
    ...{ turns, calls, lines },
    async pass() {
      waiting.shift()!.resolve();
      await tick();
    },
    async fail() {
      waiting.shift()!.reject(new Error("No"));
      await tick();
    },
  };
}

describe("the partitions of a node", () => {
  test("are opened and closed as they are given and taken", async () => {
    const calls: string[] = [];
    const turns = new PartitionRunner({
      onAssigned: async (partition) => void calls.push(`open ${partition}`),
      onRevoked: async (partition) => void calls.push(`close ${partition}`),
      logger: quiet,
    });
    await turns.want([2, 1]);
    expect(turns.wanted()).toEqual([1, 2]);
    await turns.want([2, 3]);
    expect(turns.wanted()).toEqual([2, 3]);
    await turns.want([]);
    expect(calls).toEqual(["open 2", "open 1", "close 1", "open 3", "close 2", "close 3"]);
  });

  test("that are given again run on", async () => {
    const { turns, calls, pass } = waitingTurns();
    await turns.want([1]);
    await pass();
    await turns.want([1]);
    expect(calls).toEqual(["open 1"]);
  });

  test("that are taken while they open are closed when they are open", async () => {
    const { turns, calls, pass } = waitingTurns();
    await turns.want([1]);
    let isDone = false;
    const done = turns.want([]).then(() => {
      isDone = true;
    });
    expect(calls).toEqual(["open 1"]);
    await pass();
    expect(calls).toEqual(["open 1", "close 1"]);
    expect(isDone).toBe(false);
    await pass();
    await done;
  });

  test("that are given while they close are opened when they are closed", async () => {
    const { turns, calls, pass } = waitingTurns();
    await turns.want([1]);
    await pass();
    const done = turns.want([]);
    await turns.want([1]);
    expect(calls).toEqual(["open 1", "close 1"]);
    await pass();
    expect(calls).toEqual(["open 1", "close 1", "open 1"]);
    await pass();
    await done;
  });

  test("do not wait for each other", async () => {
    const { turns, calls } = waitingTurns();
    await turns.want([1, 2]);
    expect(calls).toEqual(["open 1", "open 2"]);
  });

  test("are tried again while they cannot be opened", async () => {
    const { turns, calls, lines, fail, pass } = waitingTurns();
    await turns.want([1]);
    await fail();
    await until(() => calls.length === 2);
    await pass();
    expect(calls).toEqual(["open 1", "open 1"]);
    expect(lines.map(({ partition, msg }) => [partition, msg])).toEqual([
      [1, "A partition cannot be opened; it is tried again"],
    ]);
  });

  test("are not closed where they were never opened", async () => {
    const { turns, calls, fail } = waitingTurns();
    await turns.want([1]);
    await fail();
    await turns.want([]);
    expect(calls).toEqual(["open 1"]);
    expect(turns.wanted()).toEqual([]);
  });

  test("count as closed when that fails", async () => {
    const { turns, calls, pass, fail } = waitingTurns();
    await turns.want([1]);
    await pass();
    const done = turns.want([]);
    await fail();
    await done;
    await turns.want([1]);
    expect(calls).toEqual(["open 1", "close 1", "open 1"]);
  });
});
