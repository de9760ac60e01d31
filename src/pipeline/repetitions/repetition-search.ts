import type { MinuteCounters } from "../../figures/minute-counters.ts";
import { REPEATED } from "../../figures/row.ts";
import { DEDUP_IDS_MAX } from "../../settings/limits.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import { Repetitions, type RepetitionsParts } from "./repetitions.ts";

interface RepetitionSearchParts extends Pick<RepetitionsParts, "live" | "clock" | "timeOf"> {
  metrics: Pick<LaneMetrics, "repeated">;
  /** Counters, by source, to which repeated events are added. Absent: they are not counted. */
  received?: MinuteCounters;
}

/**
 * Returns a function that creates the search for repeated events in the logs of one partition. All
 * partitions together keep at most `DEDUP_IDS_MAX` ids.
 */
export function repetitionSearch(parts: RepetitionSearchParts) {
  const { live, clock, timeOf, metrics, received } = parts;
  const budget = { countMax: DEDUP_IDS_MAX, allocated: 0 };
  const onRepeated = (sourceId: string) => {
    metrics.repeated.inc({ workspace: live.sourceById(sourceId)?.workspaceId ?? "" });
    received?.add(sourceId, clock.now(), REPEATED, 1);
  };
  return (ledger: Ledger, readers: RepetitionsParts["readers"]) =>
    new Repetitions({ readers, ledger, live, clock, timeOf, budget, onRepeated });
}
