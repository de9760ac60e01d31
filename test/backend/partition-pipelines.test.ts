import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PartitionLedgers } from "../../src/backend/partition-ledgers.ts";
import { runPartitionPipelines } from "../../src/backend/partition-pipelines.ts";
import type { PartitionLogs } from "../../src/cluster/events/partition-logs.ts";
import { openStore } from "../../src/store/lmdb/lmdb-store.ts";
import { quiet } from "../log/support.ts";
import { until } from "../until.ts";

test("a partition whose pipeline cannot be opened is not followed", async () => {
  const path = mkdtempSync(join(tmpdir(), "pixelmill-partitions-"));
  const store = openStore({ path, name: "The ledger", logger: quiet });
  let attempts = 0;
  let followers = 0;
  const logs: Partial<PartitionLogs> = {
    readers: new Map(),
    onOffsetsInvalid() {},
    setOffsetBase() {},
    topicEnd: async () => ({ topic: "t", end: 0, known: 0 }),
    acquire() {
      followers++;
      return () => void followers--;
    },
  };
  const { runner } = runPartitionPipelines({
    ledgers: { store: async () => store } as unknown as PartitionLedgers,
    logs: logs as PartitionLogs,
    proveEnd: async () => 0,
    live: { lanes: () => [] } as never,
    host: {
      open() {
        attempts++;
        throw new Error("The ledger cannot be read");
      },
    } as never,
    node: "a",
    logger: quiet,
  });
  void runner.assign([0]);
  await until(() => attempts > 0);
  await runner.close();
  expect(followers).toBe(0);
  await store.close();
  rmSync(path, { recursive: true });
});
