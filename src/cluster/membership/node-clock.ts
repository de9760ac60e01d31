import type { KafkaClients } from "../../kafka/client.ts";
import { CLOCK_ERROR_MS_MAX } from "../../settings/limits.ts";

/**
 * Returns a function that returns the error of this node's clock: the milliseconds by which it is
 * ahead of the brokers' clocks, negative if it is behind. Callers correct ages by this error. The
 * function returns the error at the last comparison with a broker. Small errors count as 0, because
 * they vary with each comparison.
 */
export function clockCorrection({
  clockErrorMs,
}: Pick<KafkaClients, "clockErrorMs">): () => number {
  let known = 0;
  return () => {
    const errorMs = clockErrorMs();
    if (errorMs !== undefined) known = Math.abs(errorMs) > CLOCK_ERROR_MS_MAX ? errorMs : 0;
    return known;
  };
}

/** Returns a warning when this node's clock differs much from the brokers'. */
export function clockWarnings(node: string, errorMs = 0): string[] {
  if (Math.abs(errorMs) <= CLOCK_ERROR_MS_MAX) return [];
  const seconds = Math.round(Math.abs(errorMs) / 1_000);
  const which = errorMs > 0 ? "ahead of" : "behind";
  return [`The clock of node ${node} is ${seconds} s ${which} the brokers'; check its NTP service`];
}
