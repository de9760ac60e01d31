import type { PartitionAbility } from "../cluster/membership/partition-release.ts";
import type { PartitionAccess } from "../cluster/topics/partition-access.ts";

/** Facts from which `partitionAbility` decides which partitions this node can run. */
export interface AbilitySources {
  /** Number of partitions of the cluster. */
  partitions(): number;
  /** Returns by topic (events, ledgers) and partition whether this node can read and write it. */
  access(): (readonly PartitionAccess[])[];
  /**
   * Returns a sentence if something that all partitions need does not work at this node, such as
   * its disk.
   */
  nodeTrouble(): string | undefined;
  /** Returns a sentence if something that this partition needs does not work at this node. */
  partitionTrouble(partition: number): string | undefined;
  /** Returns a sentence if no guest (a process that runs user code) can be started at this node. */
  sandboxTrouble(): string | undefined;
  /** Whether this node runs the partition and some of its events wait for a guest. */
  isWaitingForSandbox(partition: number): boolean;
}

/**
 * Returns which partitions this node can run (`canRun`), and why it cannot run others (`troubles`):
 * because of its own disk, its connections or its guests (processes for user code). A partition
 * that no node can write is in neither list.
 *
 * While no guest can be started, `canRun` is empty. A partition whose events wait for a guest is
 * then in `troubles`. A partition without such events is in neither list, because it may get some
 * at any time.
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
