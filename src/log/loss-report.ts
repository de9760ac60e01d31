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
  /** The gaps that were reported, by their end, with where each was seen to begin. */
  gaps: Map<number, number>;
}

/**
 * Records that event logs should hold and do not. Each loss is counted, reported in the server's
 * log once, and stands among the warnings until the server starts again.
 */
export class LossReport {
  readonly #logger: Logger;
  readonly #metrics: ReaderMetrics | undefined;
  readonly #lost = new Map<string, LogLosses>();

  constructor({ logger, metrics }: { logger: Logger; metrics?: Metrics | undefined }) {
    this.#logger = logger;
    this.#metrics = metrics && readerMetrics(metrics);
  }

  /** The numbers of `gap` are missing; `records` of them were given to records. */
  missing(directory: string, { from, to }: Gap, records: number): void {
    const lost = this.#of(directory);
    const known = lost.gaps.get(to);
    lost.gaps.set(to, Math.min(from, known ?? from));
    const news = known === undefined ? records : Math.min(records, known - from);
    if (news <= 0) return;
    lost.records += news;
    this.#metrics?.missingRecords.inc(news);
    const context = { directory, from, to, missingRecords: news };
    this.#logger.error(context, "Records are missing from the event log");
  }

  /** Part of a segment holds no whole block, or cannot be read. */
  damaged(directory: string, path: string, offset: number, bytes: number): void {
    this.#of(directory).bytes += bytes;
    this.#metrics?.damagedBytes.inc(bytes);
    const context = { path, offset, damagedBytes: bytes };
    this.#logger.error(context, "Skipped a damaged part of the event log");
  }

  /** A sentence for each log that lost something. */
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

  /** Forgets gaps that end below `sequence`: no lane reads there again. */
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
