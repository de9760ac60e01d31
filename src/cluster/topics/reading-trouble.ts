import { REQUEST_MS_MAX } from "../../kafka/client.ts";
import { CONSEQUENCE } from "../../observe/consequence.ts";
import { INGEST_REFUSED_SHARE_MAX } from "../../settings/limits.ts";
import type { PartitionAccess } from "./partition-access.ts";
import { noAnswerOf } from "./topic-health.ts";

/**
 * Milliseconds without an answer from a leader of the catalog after which `/ready` reports that API
 * requests fail. During a shorter silence, requests wait for this leader or its successor.
 */
const SILENT_MS_MAX = REQUEST_MS_MAX;

/**
 * Decides whether what this node cannot read is trouble, because of which `/ready` answers 503, or
 * only a warning. `unread` is a sentence about events that cannot be read.
 *
 * - A leader of the catalog has not answered for `SILENT_MS_MAX`: trouble, because this node then
 *   answers no API request.
 * - Some event partitions cannot be read or written, but at most the share
 *   `INGEST_REFUSED_SHARE_MAX` of all: `unread` is a warning, because this node serves the others.
 *   It releases partitions to nodes that can read them.
 * - In all other cases `unread` is trouble.
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
  const failing = events.filter(({ state }) => state !== "available").length;
  const isPart = failing > 0 && failing <= INGEST_REFUSED_SHARE_MAX * events.length;
  return isPart
    ? { trouble: undefined, warnings: unread === undefined ? [] : [unread] }
    : { trouble: unread, warnings: [] };
}
