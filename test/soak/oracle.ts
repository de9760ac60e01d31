import { fateOf } from "./fates.ts";
import type { SentPixels } from "./sent-pixels.ts";

/** One event that arrived, in the order of arrival. */
export interface Arrival {
  user: string;
  number: number;
  messageId: string;
  /** Revision of the code that transformed it; undefined without code. */
  revision?: number;
}

export interface Verdict {
  /** Acknowledged pixels that this destination is owed. */
  owed: number;
  delivered: number;
  deadLetters: number;
  dropped: number;
  /** Deliveries of an event that had been delivered before: allowed, and counted. */
  repeated: number;
  /** Broken promises by name; empty when all held. */
  faults: Record<string, { count: number; examples: string[] }>;
}

/**
 * Holds what arrived at one destination, and its dead letters, against what was acknowledged.
 * `prefix` names the users that the destination is owed, `coded` whether code runs before it.
 */
export function judge(
  pixels: SentPixels,
  prefix: string,
  coded: boolean,
  arrivals: Iterable<Arrival>,
  deadLetters: ReadonlyMap<string, string>,
): Verdict {
  const faults: Verdict["faults"] = {};
  const fault = (name: string, example: string) => {
    faults[name] ??= { count: 0, examples: [] };
    const known = faults[name];
    known.count += 1;
    if (known.examples.length < 5) known.examples.push(example);
  };
  const messageIds = new Map<string, string>();
  const last = new Map<string, { number: number; revision: number }>();
  let repeated = 0;
  for (const { user, number, messageId, revision = 0 } of arrivals) {
    const id = `${user}:${number}`;
    if (!pixels.wasSent(user, number)) fault("invented", id);
    const first = messageIds.get(id);
    if (first !== undefined) {
      repeated += 1;
      if (first !== messageId) fault("another messageId", id);
      continue;
    }
    messageIds.set(id, messageId);
    if (coded && fateOf(number) !== "passes") fault("delivered although its code does not", id);
    const before = last.get(user);
    // A pixel whose answer did not come may be taken after those that its user sent next.
    if (before && before.number > number && pixels.wasAcknowledged(user, number)) {
      fault("out of order", `${id} after ${before.number}`);
    }
    if (before && before.revision > revision) fault("older revision after a newer one", id);
    last.set(user, { number: Math.max(number, before?.number ?? 0), revision });
  }

  let owed = 0;
  let dropped = 0;
  for (const [user, number] of pixels.acknowledgedOf(prefix)) {
    const id = `${user}:${number}`;
    owed += 1;
    if (messageIds.has(id) || deadLetters.has(id)) continue;
    if (coded && fateOf(number) === "dropped") dropped += 1;
    else fault("lost", id);
  }
  for (const [id, stage] of deadLetters) {
    const throws = coded && fateOf(Number(id.split(":")[1])) === "throws";
    if (stage === "transform" && !throws) fault("dead letter of code that does not throw", id);
  }
  return {
    ...{ owed, delivered: messageIds.size, deadLetters: deadLetters.size, dropped, repeated },
    faults,
  };
}
