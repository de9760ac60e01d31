import { Counter, Gauge } from "prom-client";
import type { LogReader } from "../../log/event-log.ts";
import { firstTime, type TimeOf } from "../../log/time-search.ts";
import type { Metrics } from "../../observe/metrics.ts";
import type { RetentionBounds } from "./retention.ts";

/**
 * Registers metrics of the event logs: their bytes, the time of their oldest record, and the
 * retention bounds. Also returns the function `keptEvents`, which reads the bytes and the time.
 */
export function createRetentionMetrics(
  metrics: Metrics,
  readers: ReadonlyMap<string, LogReader>,
  bounds: RetentionBounds,
  timeOf: TimeOf,
) {
  const registers = [metrics];
  const keptBytes = () => {
    const parts = readers.values().flatMap((reader) => reader.parts());
    return parts.reduce((bytes, part) => bytes + part.bytes, 0);
  };
  // A log that cannot be read has no time, so that the other metrics are still collected.
  const timeOfFirst = (reader: LogReader) => firstTime(reader, timeOf).catch(() => undefined);
  const oldestAt = async () => {
    const times = await Promise.all(readers.values().map(timeOfFirst));
    const oldest = Math.min(...times.filter((time) => time !== undefined));
    return Number.isFinite(oldest) ? oldest : undefined;
  };
  new Gauge({
    name: "pixelmill_events_kept_bytes",
    help: "Bytes of all event logs: what destinations are owed, and what is kept beyond that",
    registers,
    collect() {
      this.set(keptBytes());
    },
  });
  new Gauge({
    name: "pixelmill_events_oldest_timestamp_seconds",
    help: "When the oldest event came that the event logs hold; 0 when they hold none",
    registers,
    async collect() {
      this.set(((await oldestAt()) ?? 0) / 1_000);
    },
  });
  new Gauge({
    name: "pixelmill_events_retention_seconds",
    help: "Age up to which delivered events are kept; 0 is no bound of its own",
    registers,
  }).set(bounds.ageMsMax / 1_000);
  new Gauge({
    name: "pixelmill_events_retention_bytes",
    help: "Bytes of all event logs up to which delivered events are kept; 0 is no bound of its own",
    registers,
  }).set(bounds.bytesMax);
  return {
    /**
     * Resolves with the total size of all event logs, and the time of receipt of their oldest event
     * in milliseconds since the epoch. The time is undefined when the logs are empty.
     */
    keptEvents: async () => ({ bytes: keptBytes(), oldestAt: await oldestAt() }),
    givenUp: new Counter({
      name: "pixelmill_events_given_up_bytes_total",
      help: "Kept events that were given up because the disk was nearly full",
      registers,
    }),
  };
}
