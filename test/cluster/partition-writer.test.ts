import { expect, test } from "bun:test";
import { InvariantError } from "../../src/assert.ts";
import { openPartitionWriter } from "../../src/cluster/events/partition-writer.ts";
import type { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import { LogUnavailable } from "../../src/log/event-log.ts";
import { listeningLogger, textCodec, until } from "../log/support.ts";

test("a broken invariant of a probe is logged once, while the writer goes on probing", async () => {
  let sends = 0;
  const producer = {
    async send() {
      sends += 1;
      if (sends === 1) throw new Error("The brokers are away");
      throw new InvariantError("Broken invariant: a test's own");
    },
  };
  const { logger, lines } = listeningLogger();
  const writer = openPartitionWriter({
    partition: 0,
    producer: producer as unknown as IdempotentProducer,
    codec: textCodec,
    end: 0n,
    logger,
  });
  await expect(writer.append("lost")).rejects.toThrow(LogUnavailable);
  await until(() => sends > 3);
  await writer.close();
  const faults = lines.filter(({ msg }) => msg.includes("broken invariant"));
  expect(faults).toHaveLength(1);
});

test("a writer that was not used lately learns by a test block whether its partition is writable", async () => {
  let isAway = false;
  let sends = 0;
  const producer = {
    async send(_: number, take: () => Buffer) {
      sends += 1;
      take();
      if (isAway) throw new Error("The brokers are away");
      return 0n;
    },
  };
  const open = () =>
    openPartitionWriter({
      partition: 0,
      producer: producer as unknown as IdempotentProducer,
      codec: textCodec,
      end: 0n,
      logger: listeningLogger().logger,
    });
  const writable = open();
  expect(writable.acknowledged()).toBeUndefined();
  writable.probe();
  // A record that is appended during the test block is sent with it or after it.
  await writable.append("kept");
  expect(writable.acknowledged()).toBe(true);
  const before = sends;
  writable.probe();
  await writable.close();
  expect(sends).toBe(before);
  isAway = true;
  const failing = open();
  failing.probe();
  await until(() => failing.acknowledged() === false);
  expect(String(failing.failure())).toContain("away");
  isAway = false;
  await until(() => failing.acknowledged() === true);
  await failing.close();
});
