import { QUERY } from "../../bench/parse-query.ts";
import { writeEvent } from "../../src/event/event.ts";
import { inspectQuery } from "../../src/event/inspect.ts";
import { pixelRecordCodec } from "../../src/event/record.ts";
import { recordOf } from "./agreement.ts";

/**
 * `bun allocation-child.ts WORK COUNT`: prints how many bytes the process grew by, per operation.
 * Started with `BUN_JSC_useGC=0`, so that whatever is allocated stays.
 */
const record = { ...recordOf(QUERY, "track"), clientAddress: "203.0.113.9" };
const block = Buffer.allocUnsafeSlow(1 << 20);
const works: Record<string, () => unknown> = {
  event: () => writeEvent(record),
  inspect: () => inspectQuery(QUERY, "track"),
  encode: () => pixelRecordCodec.encode(record, block, 0),
  /** The positive control: what the plainest parser of the platform allocates. */
  control: () => [...new URLSearchParams(QUERY)],
};

const WARM_ROUNDS_MAX = 30;
const WARM_BYTES_MAX = 16 << 10;

const work = works[process.argv[2]!]!;
const count = Number(process.argv[3]);
// Until the compilers are done, for they allocate too: a round that grows by little ends it.
for (let round = 0, grown = Infinity; round < WARM_ROUNDS_MAX && grown > WARM_BYTES_MAX; round++) {
  grown = growth(Math.min(count, 200_000));
  await Bun.sleep(20);
}
process.stdout.write(`${growth(count) / count}\n`);

function growth(operations: number): number {
  const before = process.memoryUsage.rss();
  for (let i = 0; i < operations; i++) work();
  return process.memoryUsage.rss() - before;
}
