import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { readerMetrics } from "./metrics.ts";

/** A range of missing sequence numbers of a log: from `from` (inclusive) to `to` (exclusive). */
export interface Gap {
  from: number;
  to: number;
}

interface LogLosses {
  records: number;
  bytes: number;
  /** Number of records missing in each reported gap, by the sequence number after the gap. */
  gaps: Map<number, number>;
}

/**
 * Returns two parts of a warning: `log` names the log, `missing` says how much of it is missing.
 */
type DescribeLoss = (log: string, records: number) => { log: string; missing: string };

const describeRecords: DescribeLoss = (log, records) => ({
  log: `Event log ${log}`,
  missing: `${records} records are missing`,
});

interface LossReportOptions {
  logger: Logger;
  metrics?: Metrics | undefined;
  /**
   * Describes a loss in a warning. Without this function, the warning states the number of missing
   * records. Needed for a log in which a record is not one event.
   */
  describe?: DescribeLoss;
}

/**
 * Reports records that are missing from event logs, although they were durable. Each loss is
 * counted in the metrics, logged once, and listed in the warnings until the server restarts.
 */
export class LossReport {
  readonly #metrics;
  readonly #lost = new Map<string, LogLosses>();

  constructor(private readonly options: LossReportOptions) {
    this.#metrics = options.metrics && readerMetrics(options.metrics);
  }

  /**
   * Reports that `records` records are missing between the sequence numbers `from` and `to` of the
   * log in `directory`. If a gap with the same `to` was reported before, counts only the added
   * records.
   */
  missing(directory: string, { from, to }: Gap, records: number): void {
    const lost = this.#of(directory);
    const added = records - (lost.gaps.get(to) ?? 0);
    if (added <= 0) return;
    lost.gaps.set(to, records);
    lost.records += added;
    this.#metrics?.missingRecords.inc(added);
    const context = { directory, from, to, missingRecords: added };
    this.options.logger.error(context, "records are missing from the event log");
  }

  /**
   * Reports damage in a segment file: `bytes` bytes at `offset` that the disk cannot read, or that
   * hold no complete block.
   */
  damaged(directory: string, path: string, offset: number, bytes: number): void {
    this.#of(directory).bytes += bytes;
    this.#metrics?.damagedBytes.inc(bytes);
    const context = { path, offset, damagedBytes: bytes };
    this.options.logger.error(context, "damaged part of the event log skipped");
  }

  /** Warnings for the operator of the server: one sentence for each log that lost records. */
  warnings(): string[] {
    const { describe = describeRecords } = this.options;
    return [...this.#lost].flatMap(([directory, { records, bytes }]) => {
      const { log, missing } = describe(directory.split("/").at(-1)!, records);
      const found = [
        ...(records > 0 ? [missing] : []),
        ...(bytes > 0 ? [`${bytes} bytes are damaged`] : []),
      ];
      return found.length === 0 ? [] : [`${log}: ${found.join(", ")}`];
    });
  }

  /**
   * Forgets the reported gaps that end below `sequence`. A trim has deleted the log's records below
   * `sequence`, so readers cannot meet these gaps again.
   */
  forget(directory: string, sequence: number): void {
    const gaps = this.#lost.get(directory)?.gaps ?? new Map<number, number>();
    for (const end of gaps.keys()) if (end < sequence) gaps.delete(end);
  }

  #of(directory: string): LogLosses {
    return this.#lost.getOrInsert(directory, { records: 0, bytes: 0, gaps: new Map() });
  }
}
