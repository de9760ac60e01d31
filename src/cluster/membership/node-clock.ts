import type { KafkaClients } from "../../kafka/client.ts";
import { CLOCK_ERROR_MS_MAX } from "../../settings/limits.ts";

/**
 * Creates a function that returns how many milliseconds this node's clock is ahead of the brokers'
 * clocks (negative if behind). Differences of up to `CLOCK_ERROR_MS_MAX` count as 0, because they
 * vary with each comparison.
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

/**
 * Returns a warning if this node's clock differs from the brokers' by more than
 * `CLOCK_ERROR_MS_MAX`. `errorMs` is the difference, positive if this node's clock is ahead.
 */
export function clockWarnings(node: string, errorMs = 0): string[] {
  if (Math.abs(errorMs) <= CLOCK_ERROR_MS_MAX) return [];
  const seconds = Math.round(Math.abs(errorMs) / 1_000);
  const which = errorMs > 0 ? "ahead of" : "behind";
  return [`The clock of node ${node} is ${seconds} s ${which} the brokers'; check its NTP service`];
}
