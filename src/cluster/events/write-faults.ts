import type { WriteRefusal } from "../../kafka/idempotent-producer.ts";
import { describeWriteRefusal } from "../topics/write-refusal.ts";

/** A partition that does not accept records, and why. */
export interface PartitionFault extends WriteRefusal {
  partition: number;
}

/** Largest number of partitions that one sentence names. */
const NAMED_MAX = 12;

/** Returns one sentence for each cause for which partitions of a topic do not accept records. */
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

/** Lists numbers in ascending order, and counts those beyond the first `NAMED_MAX`. */
export function nameNumbers(numbers: readonly number[]): string {
  const named = numbers.toSorted((a, b) => a - b).slice(0, NAMED_MAX);
  const more = numbers.length - named.length;
  return named.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
