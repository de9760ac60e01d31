import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { type ReaderMetrics, readerMetrics } from "./metrics.ts";

/** Numbers from `from` up to, not including, `to`. */
export interface Gap {
  from: number;
  to: number;
}

interface LogLosses {
  records: number;
  bytes: number;
  /** Starts of the reported gaps, by their end. */
  gaps: Map<number, number>;
}

/**
 * Reports records that event logs should hold and do not. Each loss is counted, logged once, and kept
 * among the warnings until the server restarts.
 */
export class LossReport {
  readonly #logger: Logger;
  readonly #metrics: ReaderMetrics | undefined;
  readonly #lost = new Map<string, LogLosses>();

  constructor({ logger, metrics }: { logger: Logger; metrics?: Metrics | undefined }) {
    this.#logger = logger;
    this.#metrics = metrics && readerMetrics(metrics);
  }

  /** Reports a gap in which `records` records are missing. */
  missing(directory: string, { from, to }: Gap, records: number): void {
    const lost = this.#of(directory);
    const known = lost.gaps.get(to);
    lost.gaps.set(to, Math.min(from, known ?? from));
    const added = known === undefined ? records : Math.min(records, known - from);
    if (added <= 0) return;
    lost.records += added;
    this.#metrics?.missingRecords.inc(added);
    const context = { directory, from, to, missingRecords: added };
    this.#logger.error(context, "records are missing from the event log");
  }

  /** Reports a part of a segment that holds no whole block or cannot be read. */
  damaged(directory: string, path: string, offset: number, bytes: number): void {
    this.#of(directory).bytes += bytes;
    this.#metrics?.damagedBytes.inc(bytes);
    const context = { path, offset, damagedBytes: bytes };
    this.#logger.error(context, "damaged part of the event log skipped");
  }

  /** A sentence for each log that lost records. */
  warnings(): string[] {
    return [...this.#lost].flatMap(([directory, { records, bytes }]) => {
      const found = [
        ...(records > 0 ? [`${records} records are missing`] : []),
        ...(bytes > 0 ? [`${bytes} bytes are damaged`] : []),
      ];
      const name = directory.split("/").at(-1);
      return found.length === 0 ? [] : [`Event log ${name}: ${found.join(", ")}`];
    });
  }

  /** Forgets gaps that end below `sequence`, which no lane reads again. */
  forget(directory: string, sequence: number): void {
    const gaps = this.#lost.get(directory)?.gaps ?? new Map<number, number>();
    for (const end of gaps.keys()) if (end < sequence) gaps.delete(end);
  }

  #of(directory: string): LogLosses {
    const lost = this.#lost.get(directory) ?? { records: 0, bytes: 0, gaps: new Map() };
    this.#lost.set(directory, lost);
    return lost;
  }
}
