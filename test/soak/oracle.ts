import { fateOf } from "./fates.ts";
import type { SentPixels } from "./sent-pixels.ts";

/** Event that a destination received; arrays of these are in the order of arrival. */
export interface Arrival {
  user: string;
  number: number;
  messageId: string;
  /** Revision of the code that transformed it; undefined without code. */
  revision?: number;
}

export interface Verdict {
  /** Number of acknowledged pixels that the destination must receive. */
  owed: number;
  delivered: number;
  deadLetters: number;
  dropped: number;
  /** Repeated deliveries of events, which are allowed. */
  repeated: number;
  /** Violations by name; empty if there are none. */
  faults: Record<string, { count: number; examples: string[] }>;
}

/**
 * Compares the events that one destination received, and its dead letters, with the acknowledged
 * pixels. `prefix` selects the destination's users, `coded` says whether code runs before it.
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
    // A pixel without a response may be accepted after the next pixels of its user.
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
