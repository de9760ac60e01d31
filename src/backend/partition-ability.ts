import type { PartitionAbility } from "../cluster/membership/partition-release.ts";
import type { PartitionAccess } from "../cluster/topics/partition-access.ts";

/** Facts about this node, from which `partitionAbility` finds the partitions that it can run. */
export interface AbilitySources {
  /** Number of partitions of the cluster. */
  partitions(): number;
  /**
   * Returns one list for each of the topics `events` and `ledgers`. The list says for each
   * partition whether this node can read and write it.
   */
  access(): (readonly PartitionAccess[])[];
  /**
   * Returns a sentence if this node lacks something that every partition needs, such as a working
   * disk. Otherwise undefined.
   */
  nodeTrouble(): string | undefined;
  /**
   * Returns a sentence if this node lacks something that only this partition needs. Otherwise
   * undefined.
   */
  partitionTrouble(partition: number): string | undefined;
  /**
   * Returns a sentence if this node can start no guest (a process that runs user code). Otherwise
   * undefined.
   */
  sandboxTrouble(): string | undefined;
  /** Whether this node runs the partition and some of the partition's events wait for a guest. */
  isWaitingForSandbox(partition: number): boolean;
}

/**
 * Returns the partitions that this node can run (`canRun`), and the reasons why it cannot run
 * others (`troubles`). A partition without trouble is in neither if
 * - no node can write the partition, or
 * - this node can start no guest (process for user code), which is a trouble only while an event of
 *   the partition waits for one.
 */
export function partitionAbility(sources: AbilitySources): PartitionAbility {
  const troubles = new Map<number, string>();
  const canRun: number[] = [];
  const ofNode = sources.nodeTrouble();
  const ofSandbox = sources.sandboxTrouble();
  const topics = sources.access();
  for (let partition = 0; partition < sources.partitions(); partition++) {
    const access = topics.map((of) => of[partition]);
    const silent = access.find((it) => it?.state === "unreachable")?.leader;
    const waits = ofSandbox !== undefined && sources.isWaitingForSandbox(partition);
    const trouble =
      ofNode ??
      (silent && `${silent}, which leads partition ${partition}, does not answer`) ??
      sources.partitionTrouble(partition) ??
      (waits ? ofSandbox : undefined);
    if (trouble !== undefined) troubles.set(partition, trouble);
    else if (ofSandbox === undefined && access.every((it) => it?.state === "available")) {
      canRun.push(partition);
    }
  }
  return { troubles, canRun };
}
