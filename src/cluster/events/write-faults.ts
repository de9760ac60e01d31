import type { WriteRefusal } from "../../kafka/idempotent-producer.ts";
import { nameNumbers } from "../topics/number-list.ts";
import { describeWriteRefusal } from "../topics/write-refusal.ts";

/** A partition that does not accept records, and why. */
export interface PartitionFault extends WriteRefusal {
  partition: number;
}

/** Returns one sentence per cause, with the partitions that accept no records because of it. */
export function describePartitionFaults(
  topic: string,
  faults: readonly PartitionFault[],
): string[] {
  const groups = Map.groupBy(faults, describeWriteRefusal);
  return [...groups].map(([reason, of]) => {
    const partitions = nameNumbers(of.map(({ partition }) => partition));
    const subject = of.length === 1 ? "partition" : "partitions";
    return `${topic} is not written in ${subject} ${partitions}: ${reason}`;
  });
}
