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
