import { describeDiskFault } from "../../disk/disk-fault.ts";
import { eventRecordCodec, type LogEnd } from "../../event/record.ts";
import { openMark, readStoredMark } from "../../log/durable-mark.ts";
import type { LogHealth, LogWriter } from "../../log/event-log.ts";
import { openLogWriter } from "../../log/writer.ts";
import type { FileLogSettings, IngestMessage } from "../messages.ts";
import type { IngestLog, IngestLogContext } from "./ingest-log.ts";
import { WrittenSources } from "./written-sources.ts";

interface FileLogParts extends IngestLogContext {
  send(message: IngestMessage): void;
}

/** Shortest time in milliseconds between two reports to the server about durable records. */
const INGEST_DURABLE_MS = 5;

/**
 * Opens the log directory of this ingest process for writing. The log reports to the server when
 * records have become durable.
 */
export async function openFileLog(
  { directory, firstSequence, otherLogs, segmentBytesMax, segmentMsMax }: FileLogSettings,
  { logger, metrics, send, onHealth }: FileLogParts,
): Promise<IngestLog> {
  const health = (): LogHealth => {
    if (log.healthy()) return { failing: 0, writable: 1, faults: [] };
    const reason = describeDiskFault(directory, log.failure());
    return { failing: 1, writable: 0, faults: [`The event log is not written: ${reason}`] };
  };
  let wasHealthy = true;
  const onChange = () => {
    mark.set(log.durable());
    // While the log fails, its cause may change.
    if (!log.healthy() || !wasHealthy) onHealth(health());
    wasHealthy = log.healthy();
    report();
  };
  const mark = openMark(directory);
  const log = await openLogWriter({
    directory,
    logger,
    metrics,
    onChange,
    segmentBytesMax,
    segmentMsMax,
    codec: eventRecordCodec,
    // The mark holds the end of the durable records. A log that ends below it has lost records.
    first: Math.max(firstSequence, readStoredMark(mark)),
    onMissing: (gap) => send({ type: "missing", ...gap }),
  });
  mark.set(log.durable());
  const written = new WrittenSources();
  const report = createReporter(log, written, send);
  return { ...written.wrap(log), health, otherLogs: watchOtherLogEnds(otherLogs) };
}

/**
 * Maximum number of source ids in one report to the server about durable records. With more, the
 * report names none, and the deliveries for all sources read the new records.
 */
const REPORTED_SOURCES_MAX = 2_000;

/**
 * Returns a function that reports to the server how far the log is durable. It reports at once
 * after a pause, because a timer costs about 25 µs of CPU; otherwise at most once per
 * `INGEST_DURABLE_MS`.
 */
function createReporter(
  log: LogWriter<unknown>,
  written: WrittenSources,
  send: (message: IngestMessage) => void,
): () => void {
  let sequence = log.durable();
  let reportedAt = Number.NEGATIVE_INFINITY;
  let pause: ReturnType<typeof setTimeout> | undefined;
  const reportDurable = () => {
    pause = undefined;
    sequence = log.durable();
    reportedAt = performance.now();
    const sources = written.take();
    const named = sources.size <= REPORTED_SOURCES_MAX && { sources: [...sources] };
    send({ type: "durable", sequence, ...named });
  };
  return () => {
    if (pause !== undefined || log.durable() === sequence) return;
    const waitMs = reportedAt + INGEST_DURABLE_MS - performance.now();
    if (waitMs <= 0) reportDurable();
    else pause = setTimeout(reportDurable, waitMs);
  };
}

/**
 * Returns a function that reads how far the logs of the other ingest processes are durable;
 * undefined if there are no others. Each record stores these ends, which orders a client's events
 * across logs. The function returns the same array while no end changes.
 */
function watchOtherLogEnds(others: FileLogSettings["otherLogs"]) {
  if (others.length === 0) return undefined;
  const marks = others.map(({ directory }) => openMark(directory));
  const read = () => others.map(({ log }, index) => ({ log, sequence: marks[index]!.get() }));
  let ends = read();
  return (): readonly LogEnd[] => {
    for (let index = 0; index < marks.length; index++) {
      if (marks[index]!.get() !== ends[index]!.sequence) {
        ends = read();
        break;
      }
    }
    return ends;
  };
}
