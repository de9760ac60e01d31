import { pixelRecordCodec } from "../../event/record.ts";
import { openMark, readStoredMark } from "../../log/durable-mark.ts";
import type { LogWriter } from "../../log/event-log.ts";
import { openLogWriter } from "../../log/writer.ts";
import type { FileLogSettings, IngestMessage } from "../messages.ts";
import type { IngestLog, IngestLogContext } from "./ingest-log.ts";
import { watchOtherLogEnds } from "./other-log-ends.ts";
import { WrittenSources } from "./written-sources.ts";

interface FileLogParts extends IngestLogContext {
  send(message: IngestMessage): void;
}

/** Pause between two messages that tell the server how far the log is durable. */
const INGEST_DURABLE_MS = 5;

/** Opens the process's own event log, and tells the server what is written to it. */
export async function openFileLog(
  { directory, firstSequence, otherLogs, segmentBytesMax, segmentMsMax }: FileLogSettings,
  { logger, metrics, send, onHealth }: FileLogParts,
): Promise<IngestLog> {
  const onChange = () => {
    mark.set(log.durable());
    onHealth(log.healthy());
    tell();
  };
  const mark = openMark(directory);
  const log = await openLogWriter({
    ...{ directory, logger, metrics, onChange, segmentBytesMax, segmentMsMax },
    codec: pixelRecordCodec,
    // What the mark says was durable: a log that ends below has lost records.
    first: Math.max(firstSequence, readStoredMark(mark)),
    onMissing: (gap) => send({ type: "missing", ...gap }),
  });
  mark.set(log.durable());
  const written = new WrittenSources();
  const tell = createTell(log, written, send);
  return { ...written.noting(log), otherLogs: watchOtherLogEnds(otherLogs) };
}

/**
 * Sources that one message names; when there are more, the message names none and the server looks
 * itself.
 */
const SOURCES_TOLD_MAX = 100;

/**
 * Tells the server how far the log is durable: at once after a pause, else at most once per
 * `INGEST_DURABLE_MS`.
 */
function createTell(
  log: LogWriter<unknown>,
  written: WrittenSources,
  send: (message: IngestMessage) => void,
): () => void {
  let sequence = log.durable();
  let pause: ReturnType<typeof setTimeout> | undefined;
  const tellDurable = () => {
    pause = undefined;
    if (log.durable() === sequence) return;
    sequence = log.durable();
    const sources = written.take();
    const named = sources.size <= SOURCES_TOLD_MAX && { sources: [...sources] };
    send({ type: "durable", sequence, ...named });
    pause = setTimeout(tellDurable, INGEST_DURABLE_MS);
  };
  return () => {
    if (pause === undefined) tellDurable();
  };
}
