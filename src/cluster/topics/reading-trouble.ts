import { REQUEST_MS_MAX } from "../../kafka/client.ts";
import { CONSEQUENCE } from "../../observe/consequence.ts";
import { INGEST_REFUSED_SHARE_MAX } from "../../settings/limits.ts";
import type { PartitionAccess } from "./partition-access.ts";
import { noAnswerOf } from "./topic-health.ts";

/**
 * Time in milliseconds without an answer of the catalog's leader after which API requests fail; a
 * leader that answers late, or is replaced meanwhile, holds them up.
 */
const SILENT_MS_MAX = REQUEST_MS_MAX;

/**
 * Judges what this node cannot read, for `/ready`. A node that has not reached the catalog's leader
 * for `SILENT_MS_MAX` answers no API request. One that does not reach the leaders of some partitions answers nearly
 * everything, and other nodes run these partitions after a session: that is a warning, up to a share
 * of `INGEST_REFUSED_SHARE_MAX`. `unread` is a sentence about events or ledgers that cannot be read,
 * if any.
 */
export function judgeReading(
  access: (topic: "catalog" | "events", silentMs: number) => readonly PartitionAccess[],
  unread: string | undefined,
): { trouble: string | undefined; warnings: string[] } {
  const silent = access("catalog", SILENT_MS_MAX).find(({ state }) => state === "unreachable");
  if (silent?.state === "unreachable") {
    const consequence = "it leads the catalog, which this node cannot read";
    const trouble = noAnswerOf(silent.leader) + CONSEQUENCE + consequence;
    return { trouble, warnings: [] };
  }
  const events = access("events", 0);
  const unreachable = events.filter(({ state }) => state === "unreachable").length;
  const isPart = unreachable > 0 && unreachable <= INGEST_REFUSED_SHARE_MAX * events.length;
  return isPart
    ? { trouble: undefined, warnings: unread === undefined ? [] : [unread] }
    : { trouble: unread, warnings: [] };
}
