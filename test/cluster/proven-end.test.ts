import { afterEach, expect, jest, mock, spyOn, test } from "bun:test";
import { describeBlockLoss } from "../../src/cluster/events/block-loss.ts";
import { endProver } from "../../src/cluster/events/proven-end.ts";
import { IdempotentProducer } from "../../src/kafka/idempotent-producer.ts";
import { BLOCK_RECORDS_MAX, blockAt } from "../../src/log/block.ts";

afterEach(() => {
  jest.useRealTimers();
  mock.restore();
});

/** A prover of the ends of the topic `t`, and how many producers it has opened. */
function openProver() {
  let producers = 0;
  const producer = () => {
    producers += 1;
    return {};
  };
  const proveEnd = endProver({ producer } as never, "t");
  return { proveEnd, producers: () => producers };
}

test("the end of a partition is the offset of an empty block that its leader has acknowledged", async () => {
  const sent: unknown[] = [];
  spyOn(IdempotentProducer.prototype, "send").mockImplementation(async (partition, take) => {
    const block = take();
    sent.push([partition, blockAt(block, 0, 0)]);
    return 41n + BigInt(partition);
  });
  const { proveEnd, producers } = openProver();
  expect(producers()).toBe(0);
  expect([await proveEnd(0), await proveEnd(2)]).toEqual([41, 43]);
  const empty = { first: 0, end: 0, bytes: expect.anything() };
  expect(sent).toEqual([
    [0, empty],
    [2, empty],
  ]);
  expect(producers()).toBe(1);
});

test("the end of a partition without a leader is not known after 10 s", async () => {
  jest.useFakeTimers();
  spyOn(IdempotentProducer.prototype, "send").mockImplementation(() => new Promise(() => {}));
  let failure: unknown;
  const proving = openProver()
    .proveEnd(3)
    .catch((error) => {
      failure = error;
    });
  jest.advanceTimersByTime(9_999);
  await Promise.resolve();
  expect(failure).toBeUndefined();
  for (let ms = 0; ms < 3; ms++) jest.advanceTimersByTime(1);
  await proving;
  expect(String(failure)).toContain("Expected the leader of t 3 to take a block");
});

test("a loss names the partition, and how many blocks and events are missing", () => {
  const describe = describeBlockLoss("p.events");
  const events = `of 1 to ${BLOCK_RECORDS_MAX} events each`;
  expect(describe("k0", 1)).toEqual({
    log: "Partition 0 of p.events",
    missing: `1 block is missing, ${events}`,
  });
  expect(describe("k12", 2)).toEqual({
    log: "Partition 12 of p.events",
    missing: `2 blocks are missing, ${events}`,
  });
});
