import type { Destination } from "../../catalog/model.ts";
import type { Clock, Notifier } from "../clock.ts";
import { createDeadLetter } from "../dead-letters/letter-events.ts";
import type { InFlight } from "../in-flight.ts";
import type { LaneChange, LaneCommitSource, Ledger } from "../ledger/ledger.ts";
import { LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import type { LiveTail } from "../live-tail.ts";
import type { EventOutcome, LaneEvent, Output } from "../model/lane-event.ts";
import type { DeliveryIntent, LaneRecord } from "../model/lane-record.ts";
import type { HealthLogger } from "../monitoring/health-logger.ts";
import type { LaneLabels } from "../monitoring/lane-gauges.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import type { LaneReader } from "../reading/lane-reader.ts";
import type { LaneReplays } from "../replays/lane-replays.ts";

/**
 * Time over which items that settle are gathered into one commit. Nobody waits for a commit, unless
 * it makes room, and each costs the server 100 µs, whatever it holds.
 */
const GATHER_MS = 50;
/**
 * As `GATHER_MS`, where a commit is written to brokers and read by every node, which costs a
 * millisecond if it goes alone. So all lanes of all nodes commit at these multiples of the time of
 * day, and the commits go together.
 */
const SHARED_GATHER_MS = 500;

/** Milliseconds until a commit of what settles at `now`, a time of day in milliseconds. */
export function commitDelayMs(isShared: boolean, now: number): number {
  return isShared ? SHARED_GATHER_MS - (now % SHARED_GATHER_MS) : GATHER_MS;
}

/** Of a change on its way to the disk: its items, and the low marks of when it was made. */
interface Committing {
  items: LaneEvent[];
  lows: Map<string, number>;
  replayLows: ReturnType<LaneReplays["lows"]>;
}

export interface LaneCommitterParts {
  ledger: Ledger;
  metrics: LaneMetrics;
  liveTail: LiveTail;
  clock: Clock;
  labels: LaneLabels;
  announcements: HealthLogger;
  reader: LaneReader;
  replays: LaneReplays;
  inFlight: InFlight;
  destination(): Destination;
  /** Notifies when a lane that was full may have room. */
  room: Notifier;
}

/**
 * The items of a lane that have settled, until the ledger has them on disk with the lane's cursor.
 */
export class LaneCommitter implements LaneCommitSource {
  readonly #parts: LaneCommitterParts;
  /** Items that settled since the last commit began. */
  #settled: LaneEvent[] = [];
  readonly #committing = new Map<LaneChange, Committing>();
  /** Ids of the dead letters that are in flight again. */
  readonly replaying = new Set<string>();
  #scheduling: ReturnType<typeof setTimeout> | undefined;
  #discarded = false;
  /** The gathered delivery that may be under way. */
  #sealed: DeliveryIntent | undefined;
  /** Told when that is on disk. */
  #told: (() => void) | undefined;

  constructor(parts: LaneCommitterParts, sealed: DeliveryIntent | undefined) {
    this.#parts = parts;
    this.#sealed = sealed;
  }

  /** Resolves once the ledger has it that this delivery may be under way. */
  seal(sealed: DeliveryIntent): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#sealed = sealed;
    this.#told = resolve;
    this.schedule();
    return promise;
  }

  /** The delivery has ended: the ledger forgets it with what settled by it. */
  unseal(): void {
    this.#sealed = undefined;
    this.#scheduleSoon();
  }

  /** Ends outputs, all in the same way. */
  settle(outputs: readonly Output[], ending: EventOutcome): void {
    if (outputs.length === 0) return;
    const { clock, metrics, liveTail, inFlight, room, labels, announcements } = this.#parts;
    const destination = this.#parts.destination();
    const now = clock.now();
    const history = metrics.histories.of(labels.destination);
    metrics.events.inc({ ...labels, outcome: ending.kind }, outputs.length);
    announcements.ended(outputs.length, ending);
    const wasFull = inFlight.isFull;
    const settledBefore = this.#settled.length;
    for (const output of outputs) {
      const { item } = output;
      if (ending.kind === "dead-letter") {
        item.letters.push(createDeadLetter(output, ending, destination, now));
      }
      if (ending.kind !== "discarded") history.ended(item.input.sourceId, ending.kind, now);
      liveTail.settled(output, ending, destination, now);
      item.open -= 1;
      if (ending.kind === "delivered") item.isDelivered = true;
      if (item.open > 0) continue;
      this.#settled.push(item);
      this.#parts.replays.settle(item, ending);
    }
    const settled = this.#settled.length - settledBefore;
    if (settled === 0) return;
    inFlight.settle(settled);
    if (wasFull) room.notify();
    this.#scheduleSoon();
  }

  /** Has the cursor written although nothing settled, so that the log can be trimmed. */
  schedule(): void {
    clearTimeout(this.#scheduling);
    this.#scheduling = undefined;
    this.#parts.ledger.schedule(this);
  }

  /** The lane writes nothing more. */
  discard(): void {
    this.#discarded = true;
    clearTimeout(this.#scheduling);
  }

  collect(): LaneChange | undefined {
    if (this.#discarded) return undefined;
    const { reader, replays } = this.#parts;
    const destinationId = this.#parts.destination().id;
    const items = this.#settled;
    this.#settled = [];
    const replayed: string[] = [];
    for (const { origin } of items) {
      if ("replayOf" in origin) replayed.push(origin.replayOf.id);
      else if ("connectionId" in origin) reader.settle(origin.log, origin.sequence);
    }
    const jobs = replays.progress();
    const record = { ...reader.record(), ...(this.#sealed && { sealed: this.#sealed }) };
    if (items.length === 0 && jobs.length === 0 && this.#isKept(record)) return undefined;
    const letters = items.flatMap((item) => item.letters);
    const change = { destinationId, record, letters, replayed, jobs };
    this.#committing.set(change, { items, lows: reader.lows(), replayLows: replays.lows() });
    return change;
  }

  committed(change: LaneChange): void {
    const { reader, replays, inFlight, room } = this.#parts;
    const { items, lows, replayLows } = this.#committing.get(change)!;
    this.#committing.delete(change);
    if (this.#sealed !== undefined && change.record.sealed === this.#sealed) this.#told?.();
    reader.kept(lows);
    replays.kept(change.jobs ?? [], replayLows);
    const wasFull = inFlight.isFull;
    inFlight.commit(items);
    for (const id of change.replayed) this.replaying.delete(id);
    // A replayed letter that failed again may be replayed once more.
    if (wasFull || change.replayed.length > 0) room.notify();
  }

  #scheduleSoon(): void {
    const { ledger, clock, inFlight } = this.#parts;
    const isAwaited = this.replaying.size > LANE_REPLAYS_EVENTS_MAX / 2;
    const ms = commitDelayMs(ledger.isShared, clock.now());
    if (isAwaited || inFlight.isFull) this.schedule();
    else this.#scheduling ??= setTimeout(() => this.schedule(), ms);
  }

  #isKept({ logs, sealed }: LaneRecord): boolean {
    const kept = this.#parts.ledger.lane(this.#parts.destination().id);
    return Bun.deepEquals(kept?.logs ?? {}, logs) && kept?.sealed?.name === sealed?.name;
  }
}
