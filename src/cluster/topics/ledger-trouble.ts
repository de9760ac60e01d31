import { CONSEQUENCE } from "../../observe/consequence.ts";
import { INGEST_REFUSED_SHARE_MAX } from "../../settings/limits.ts";
import { nameNumbers } from "./number-list.ts";

export interface LedgerJudgement {
  /**
   * Sentence that says why failing ledgers (stores of delivery progress) make `/ready` answer 503.
   * Undefined if they do not.
   */
  trouble: string | undefined;
  warnings: string[];
}

/**
 * Decides whether failing ledgers (stores of delivery progress) are trouble, because of which
 * `/ready` answers 503, or only a warning. `failures` has, for each partition whose ledger this
 * node cannot read or write, a sentence that says why. If this node's disk does not take changes of
 * ledgers, `ofDisk` says why.
 *
 * - More than the share `INGEST_REFUSED_SHARE_MAX` of all ledgers fails: trouble.
 * - Fewer ledgers fail: a warning, because other nodes deliver the events of these partitions once
 *   the group's session time has passed.
 * - The disk does not take changes: trouble while this node delivers the events of any partition,
 *   and otherwise a warning.
 */
export function judgeLedgers(
  failures: readonly (string | undefined)[],
  ofDisk: string | undefined,
  runsPartitions: boolean,
): LedgerJudgement {
  if (ofDisk !== undefined && !runsPartitions) {
    const rest = "other nodes run its partitions, and it answers nothing about dead letters";
    return { trouble: undefined, warnings: [ofDisk + CONSEQUENCE + rest] };
  }
  const failing = failures.flatMap((cause, partition) => (cause ? [{ cause, partition }] : []));
  const trouble = ofDisk ?? failing[0]?.cause;
  if (ofDisk !== undefined || failing.length > INGEST_REFUSED_SHARE_MAX * failures.length) {
    return { trouble, warnings: [] };
  }
  const warnings = [...Map.groupBy(failing, ({ cause }) => cause)].map(([cause, of]) => {
    const partitions = nameNumbers(of.map(({ partition }) => partition));
    const subject = of.length === 1 ? "ledger of partition" : "ledgers of partitions";
    return `The ${subject} ${partitions} cannot be used here: ${cause}`;
  });
  return { trouble: undefined, warnings };
}
