import { readdirSync } from "node:fs";
import { join } from "node:path";
import { makeDirectory } from "../../disk/sync.ts";
import { type DurableMark, openMark, readStoredMark } from "../../log/durable-mark.ts";
import type { DurableRange, EventLogs, LogReader } from "../../log/event-log.ts";
import { lockDirectory } from "../../log/lock.ts";
import { LossReport } from "../../log/loss-report.ts";
import type { Positions } from "../../log/positions.ts";
import { openLogReader } from "../../log/reader.ts";
import { sealLog } from "../../log/recovery.ts";
import type { SegmentBounds } from "../../log/writer-options.ts";
import type { Logger } from "../../observe/log.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { IngestLogs } from "../messages.ts";

export interface FileLogsOptions {
  /**
   * Directory that contains one log directory for each ingest process, named by the process's
   * number.
   */
  directory: string;
  /** Number of ingest processes that write logs. */
  count: number;
  /**
   * Lowest sequence number that a new record may get, by the name of the event log. Lower numbers
   * are never assigned, because consumers may have read such records before the disk lost them.
   */
  known?: Positions;
  /** Bounds (size and age) at which an ingest process starts a new segment of its log. */
  segments?: SegmentBounds;
  logger: Logger;
  metrics?: Metrics;
}

/** The event logs of this server's ingest processes, one directory for each. */
type FileLogs = EventLogs & Required<IngestLogs>;

interface Log {
  directory: string;
  reader: LogReader;
  /**
   * Durable mark of the log (a file with the end of its durable records). Undefined until an ingest
   * process of this server has opened the log.
   */
  mark: DurableMark | undefined;
  /**
   * Whether an earlier ingest process left the log behind without records. Ingest processes skip
   * such a log when they note in each new record which records of other logs came before.
   */
  isEmpty: boolean;
}

/**
 * Opens the logs of the ingest processes that will be started, and those that earlier processes
 * left behind. Waits for earlier processes to release their locks. Throws `StartError` if one still
 * holds its lock after `LOG_LOCK_MS_MAX`.
 */
export async function openFileLogs(options: FileLogsOptions): Promise<FileLogs> {
  const losses = new LossReport(options);
  const logs = await openLogs(options, losses);
  const listeners = new Set<(news?: DurableRange) => void>();
  const notify = (news?: DurableRange) => {
    for (const listener of listeners) listener(news);
  };
  const of = (index: number) => logs.get(String(index))!;
  return {
    readers: new Map([...logs].map(([name, { reader }]) => [name, reader])),
    async ends() {
      return Object.fromEntries([...logs].map(([name, { reader }]) => [name, reader.end()]));
    },
    onDurable(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    warnings: () => losses.warnings(),
    async close() {
      await Promise.all(logs.values().map(({ reader }) => reader.close()));
    },
    settings(index) {
      const { directory, reader } = of(index);
      const others = [...logs].filter(([name, it]) => name !== String(index) && !it.isEmpty);
      return {
        kind: "files",
        directory,
        ...options.segments,
        firstSequence: Math.max(options.known?.[index] ?? 0, reader.end()),
        otherLogs: others.map(([name, it]) => ({ log: Number(name), directory: it.directory })),
      };
    },
    opened(index, durable) {
      const log = of(index);
      log.mark ??= openMark(log.directory);
      log.reader.advance(durable);
      notify();
    },
    written(index, end, sources) {
      of(index).reader.advance(end);
      notify(sources && { log: String(index), end, sources });
    },
    missing(index, gap) {
      losses.missing(of(index).directory, gap, gap.to - gap.from);
    },
  };
}

async function openLogs(options: FileLogsOptions, losses: LossReport): Promise<Map<string, Log>> {
  makeDirectory(options.directory);
  const left = readdirSync(options.directory).filter((name) => /^\d+$/.test(name));
  const used = Array.from({ length: options.count }, (_, i) => String(i));
  const logs = new Map<string, Log>();
  for (const name of new Set([...used, ...left])) {
    const directory = join(options.directory, name);
    const durable = () => log.mark?.get() ?? 0;
    const reader = await openLogReader({ directory, losses, durable });
    const log: Log = { directory, reader, mark: undefined, isEmpty: false };
    if (used.includes(name)) {
      makeDirectory(directory);
      // The lock is free once no process of an earlier server writes the log.
      const unlock = await lockDirectory(directory);
      unlock();
    } else await sealLeftLog(log, options.known?.[name] ?? 0, options.logger, losses);
    logs.set(name, log);
  }
  return logs;
}

async function sealLeftLog(
  log: Log,
  known: number,
  logger: Logger,
  losses: LossReport,
): Promise<void> {
  const { directory, reader } = log;
  const end = await sealLog({ directory, logger });
  const mark = openMark(directory);
  const next = Math.max(end, known, readStoredMark(mark));
  if (next > end) losses.missing(directory, { from: end, to: next }, next - end);
  reader.advance(next);
  // A power loss may have removed the mark of the log's last writer.
  mark.set(next);
  log.isEmpty = reader.end() <= reader.first();
}
