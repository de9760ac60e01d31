import { CONSEQUENCE } from "../../observe/consequence.ts";
import { INGEST_REFUSED_SHARE_MAX } from "../../settings/limits.ts";
import { nameNumbers } from "./number-list.ts";

export interface LedgerJudgement {
  /** Sentence about why ledgers make `/ready` answer 503. Undefined when they do not. */
  trouble: string | undefined;
  warnings: string[];
}

/**
 * Judges, for `/ready`, the ledgers that this node cannot read or write. `failures` has a sentence
 * for each such ledger, by partition. Failures of more than the share `INGEST_REFUSED_SHARE_MAX` of
 * all ledgers are trouble. Fewer are a warning, because other nodes run these partitions once the
 * group's session time has passed. A disk that does not take changes (`ofDisk`) is trouble while
 * this node runs partitions. Once other nodes run all of them, it is a warning.
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
