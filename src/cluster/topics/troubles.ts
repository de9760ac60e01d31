import { REQUEST_MS_MAX } from "../../kafka/client.ts";
import { CONSEQUENCE } from "../../observe/consequence.ts";
import { INGEST_REFUSED_SHARE_MAX } from "../../settings/limits.ts";
import { nameNumbers } from "./number-list.ts";
import type { PartitionAccess } from "./partition-access.ts";
import { noAnswerOf } from "./topic-health.ts";

export interface Judgement {
  /** Sentence that says why `/ready` must answer 503. Undefined if `/ready` need not answer 503. */
  trouble: string | undefined;
  warnings: string[];
}

/**
 * Judges the failures of ledgers (stores of delivery progress). Trouble makes `/ready` answer 503;
 * a warning does not. `failures` has, for each partition, a sentence if its ledger fails, else
 * undefined. `ofDisk` is a sentence if this node's disk cannot store changes of the ledgers.
 *
 * - The disk fails: trouble while this node delivers the events of any partition, otherwise a
 *   warning.
 * - The disk works, and more than the share `INGEST_REFUSED_SHARE_MAX` of all ledgers fails:
 *   trouble.
 * - The disk works, and fewer ledgers fail: a warning, because other nodes take over their
 *   partitions.
 */
export function judgeLedgers(
  failures: readonly (string | undefined)[],
  ofDisk: string | undefined,
  runsPartitions: boolean,
): Judgement {
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

/**
 * Milliseconds for which a leader of the catalog topic may fail to answer before `/ready` reports
 * that API requests fail. During a shorter silence, requests wait for this leader or its successor.
 */
const SILENT_MS_MAX = REQUEST_MS_MAX;

/**
 * Judges the failed reads of the cluster's topics. Trouble makes `/ready` answer 503; a warning
 * does not. `unread` is a sentence about event partitions that this node cannot read, or undefined.
 * The first case that applies decides:
 * - A leader of the catalog topic has not answered for `SILENT_MS_MAX`: trouble, because this node
 *   then answers no API request.
 * - Some event partitions, but at most the share `INGEST_REFUSED_SHARE_MAX`, are not available to
 *   this node: `unread` is a warning, because other nodes take these partitions over.
 * - In all other cases, `unread` is trouble.
 */
export function judgeReading(
  access: (topic: "catalog" | "events", silentMs: number) => readonly PartitionAccess[],
  unread: string | undefined,
): Judgement {
  const silent = access("catalog", SILENT_MS_MAX).find(({ state }) => state === "unreachable");
  if (silent?.state === "unreachable") {
    const consequence = "it leads the catalog, which this node cannot read";
    const trouble = noAnswerOf(silent.leader) + CONSEQUENCE + consequence;
    return { trouble, warnings: [] };
  }
  const events = access("events", 0);
  const failing = events.filter(({ state }) => state !== "available").length;
  const isPart = failing > 0 && failing <= INGEST_REFUSED_SHARE_MAX * events.length;
  return isPart
    ? { trouble: undefined, warnings: unread === undefined ? [] : [unread] }
    : { trouble: unread, warnings: [] };
}
