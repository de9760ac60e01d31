import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type PartitionLedgers,
  storedOffsetBase,
  storeOffsetBase,
} from "../../src/backend/partition-ledgers.ts";
import { runPartitionPipelines } from "../../src/backend/partition-pipelines.ts";
import type { PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import type { OffsetBase } from "../../src/cluster/topics/offset-base.ts";
import type { Ledger } from "../../src/pipeline/ledger/ledger.ts";
import { LedgerClaims } from "../../src/pipeline/ledger/ledger-claim.ts";
import type { LaneRecord } from "../../src/pipeline/model/lane-record.ts";
import { HAND_OVER_MS_MAX } from "../../src/settings/limits.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { type Store, withoutClose } from "../../src/store/store.ts";
import { listeningLogger, quiet } from "../log/support.ts";
import { until } from "../until.ts";

let end = async () => {};
afterEach(() => end());

const reader = {};

/**
 * Partition 0 of the node `a`, whose ledger is a real one. Its logs and its pipeline only tell what
 * is asked of them.
 */
function onePartition() {
  const path = mkdtempSync(join(tmpdir(), "pixelmill-partitions-"));
  const store = openStore({ path, name: "The ledger", logger: quiet });
  const told: unknown[] = [];
  const heard = new Set<(tables: ReadonlySet<string>) => void>();
  const shared: Store = {
    ...withoutClose(store),
    change: (apply, options) => state.changing ?? store.change(apply, options),
    listen(listener) {
      heard.add(listener);
      return () => void heard.delete(listener);
    },
  };
  const state = {
    /** Error of an attempt to open the pipeline. */
    fault: undefined as Error | undefined,
    changing: undefined as Promise<never> | undefined,
    end: { topic: "t", end: 5 },
    waitsForSandbox: false,
    ledger: undefined as Ledger | undefined,
  };
  let invalid: (logs: string[]) => void = () => {};
  const logs: Partial<PartitionLogs> = {
    readers: new Map([["k0", reader as never]]),
    onOffsetsInvalid(listener) {
      invalid = listener;
    },
    setOffsetBase: (...of) => void told.push(["base", ...of]),
    topicEnd: async (_, known) => ({ ...state.end, known }),
    acquire(log) {
      told.push(["follow", log]);
      return () => void told.push(["unfollow", log]);
    },
  };
  const pipeline = {
    gauges: () => [{ isWaitingForSandbox: () => state.waitsForSandbox }],
    refreshReplays: (ids: string[]) => void told.push(["replays", ids]),
    close: async (drainMs: number) => void told.push(["close", drainMs]),
  };
  const { logger, lines } = listeningLogger();
  const partitions = runPartitionPipelines({
    ledgers: { store: async () => shared } as unknown as PartitionLedgers,
    logs: logs as PartitionLogs,
    proveEnd: async () => 7,
    live: { lanes: () => [] } as never,
    host: {
      open(ledger: Ledger, readers: ReadonlyMap<string, unknown>) {
        state.ledger = ledger;
        told.push(["open", [...readers]]);
        if (state.fault !== undefined) throw state.fault;
        return pipeline;
      },
    } as never,
    ...{ node: "a", logger },
  });
  end = async () => {
    await partitions.runner.close();
    await store.close();
    rmSync(path, { recursive: true });
  };
  return {
    ...{ ...partitions, store, told, state, lines },
    offsetsInvalid: (logs: string[]) => invalid(logs),
    /** Another node changes tables of the ledger. */
    change(tables: string[]) {
      for (const listener of heard) listener(new Set(tables));
    },
    listeners: () => heard.size,
    start: () =>
      until(() => partitions.runner.assign([0]).then(() => partitions.runner.isSettled(0))),
  };
}

const base = (of: number): OffsetBase => ({ topic: "t", base: of });
const started = [
  ["base", "k0", base(0), 5, undefined],
  ["follow", "k0"],
  ["open", [["k0", reader]]],
];

test("a partition starts with its offset base, follows its log, and stops in the time of a hand-over", async () => {
  const { runner, store, told, start, listeners } = onePartition();
  await start();
  expect(told.splice(0)).toEqual(started);
  expect(storedOffsetBase(store)).toEqual(base(0));
  expect(new LedgerClaims(store).owner()?.node).toBe("a");
  await runner.assign([]);
  expect(told.splice(0)).toEqual([
    ["unfollow", "k0"],
    ["close", HAND_OVER_MS_MAX],
  ]);
  expect(listeners()).toBe(0);
  await start();
  expect(told).toEqual(started);
});

test("a partition whose log ends before the known position asks the leader, and stores the raised base", async () => {
  const { store, told, start } = onePartition();
  // A table is opened before a transaction uses it.
  expect(storedOffsetBase(store)).toBeUndefined();
  const lanes = store.table<LaneRecord, string>("lanes");
  await store.change(() => {
    storeOffsetBase(store, base(3));
    lanes.put("d", { logs: { k0: { next: 12, pending: [] } }, known: {} });
  });
  await start();
  // The leader has 7 blocks, although another broker answered 5.
  expect(told[0]).toEqual(["base", "k0", base(5), 7, { how: "has lost its end", blocks: 2 }]);
  expect(storedOffsetBase(store)).toEqual(base(5));
});

test("a partition whose pipeline cannot be opened is not followed, and is named", async () => {
  const { runner, told, state, listeners, trouble, start } = onePartition();
  state.fault = new Error("The ledger cannot be read");
  void runner.assign([0]);
  await until(() => trouble(0) !== undefined);
  expect(trouble(0)).toBe("Partition 0 cannot be started");
  expect(told.splice(0)).toEqual([...started, ["unfollow", "k0"]]);
  expect(listeners()).toBe(0);
  state.fault = undefined;
  await start();
  expect(told).toEqual(started);
  expect(trouble(0)).toBeUndefined();
});

test("a partition that another node has claimed stops at once, and is not followed meanwhile", async () => {
  const { runner, store, told, change, lines, start } = onePartition();
  await start();
  told.length = 0;
  await store.change(() => new LedgerClaims(store).write("b", "claim"));
  change(["owners"]);
  await until(() => runner.running().length === 0);
  expect(told).toEqual([
    ["unfollow", "k0"],
    ["close", 0],
  ]);
  expect(lines).toContainEqual(
    expect.objectContaining({ partition: 0, msg: "partition lost to another node" }),
  );
});

test("the pipeline learns of replays that another node has changed", async () => {
  const { told, change, start } = onePartition();
  await start();
  told.length = 0;
  change(["replays"]);
  expect(told).toEqual([["replays", []]]);
});

test("a partition whose offsets have become invalid starts again at once, and others do not", async () => {
  const { told, offsetsInvalid, runner, start } = onePartition();
  await start();
  told.length = 0;
  offsetsInvalid(["k1"]);
  expect(runner.isSettled(0)).toBe(true);
  offsetsInvalid(["k0"]);
  await until(() => runner.isSettled(0));
  expect(told).toEqual([["unfollow", "k0"], ["close", 0], ...started]);
});

test("a partition tells whether a delivery waits for a guest, and whether its ledger is failing", async () => {
  const { state, isWaitingForSandbox, trouble, runner, start } = onePartition();
  expect(isWaitingForSandbox(0)).toBe(false);
  await start();
  expect(isWaitingForSandbox(0)).toBe(false);
  state.waitsForSandbox = true;
  expect(isWaitingForSandbox(0)).toBe(true);
  expect(trouble(0)).toBeUndefined();
  const change = { destinationId: "d", record: { logs: {}, known: {} } };
  state.changing = Promise.reject(new Error("The disk is full"));
  state.changing.catch(() => {});
  state.ledger!.schedule({
    collect: () => ({ ...change, deadLetters: [], settledRequeued: [] }),
    ...{ committed() {}, fail() {} },
  });
  await until(() => trouble(0) !== undefined);
  expect(trouble(0)).toBe("The ledger of partition 0 cannot be written");
  // A node that gives the partition up does not wait for the ledger.
  state.changing = new Promise(() => {});
  await runner.assign([], new Set([0]));
  expect(runner.running()).toEqual([]);
});
