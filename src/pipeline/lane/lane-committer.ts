import { assert } from "../../assert.ts";
import { createDeadLetter } from "../dead-letters/letter-events.ts";
import type { LaneChange, LaneCommitSource } from "../ledger/ledger.ts";
import type { SettledLetter } from "../ledger/settle-requeued.ts";
import { DOWN_MS_MIN, LANE_REPLAYS_EVENTS_MAX } from "../limits.ts";
import type { StoredLetter } from "../model/dead-letter.ts";
import {
  type EventOutcome,
  forEachSource,
  type LaneEvent,
  type Origin,
  type Output,
} from "../model/lane-event.ts";
import { type DeliveryIntent, isStored, type LaneRecord } from "../model/lane-record.ts";
import type { LaneReplays } from "../replays/lane-replays.ts";
import type { LaneParts } from "./lane-context.ts";

/**
 * Milliseconds from the first unwritten outcome (such as a delivered event) to the commit that
 * writes it together with later outcomes. A commit costs the server 100 µs, whatever its size. A
 * lane whose memory is full commits at once.
 */
const COMMIT_DELAY_MS = 50;
/**
 * Interval in milliseconds of commits to a ledger (a store of delivery progress) that a cluster's
 * nodes share. All nodes commit when the time since the epoch is a multiple of the interval,
 * because every node reads each commit, and reading one that comes alone takes a millisecond.
 */
const SHARED_COMMIT_INTERVAL_MS = 500;

/**
 * Returns the milliseconds from `now` until the next commit of outcomes. `now` is in milliseconds
 * since the epoch. `isShared` is true for a ledger that the nodes of a cluster share.
 */
export function commitDelayMs(isShared: boolean, now: number): number {
  return isShared ? SHARED_COMMIT_INTERVAL_MS - (now % SHARED_COMMIT_INTERVAL_MS) : COMMIT_DELAY_MS;
}

/** Maximum share of the retry window by which an outage grows before its new length is stored. */
const OUTAGE_STEP_FRACTION = 1 / 8;

/** A change of the lane's progress that is being written to the ledger. */
interface PendingCommit {
  change: LaneChange;
  /** Events whose final outcomes are in `change`. */
  events: LaneEvent[];
  /** Log → sequence number of the first record that the lane needs after `change` is on disk. */
  lows: Map<string, number>;
  replayLows: ReturnType<LaneReplays["lows"]>;
}

interface LaneCommitterParts extends LaneParts {
  replays: LaneReplays;
}

/**
 * Collects the outcomes of one destination's events and writes them to the ledger. Outcomes, dead
 * letters and read positions go into one transaction.
 */
export class LaneCommitter implements LaneCommitSource {
  readonly #parts: LaneCommitterParts;
  /** Events whose outputs all have a final outcome, but which are in no commit yet. */
  #settled: LaneEvent[] = [];
  #pending: PendingCommit | undefined;
  /**
   * Ids of the requeued dead letters that this lane is processing. An id is removed once the ledger
   * has deleted its letter.
   */
  readonly requeuedIds = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isDiscarded = false;
  /** Intent (name and range of events) of the batched delivery that may be in progress. */
  #intent: DeliveryIntent | undefined;
  #isIntentWritten: boolean;
  #onIntentWritten: (() => void) | undefined;
  /** Length in milliseconds of the current outage, as it was last written to the ledger. */
  #writtenOutageMs = 0;

  constructor(parts: LaneCommitterParts, intent: DeliveryIntent | undefined) {
    this.#parts = parts;
    this.#intent = intent;
    this.#isIntentWritten = intent !== undefined;
  }

  /**
   * Writes the intent of a batched delivery (its name and range of events), so that the delivery
   * can be repeated after a crash or stop. The delivery may begin once the promise resolves. Throws
   * if the previous intent was not cleared.
   */
  writeIntent(intent: DeliveryIntent): Promise<void> {
    assert(this.#intent === undefined, "A lane has one batched delivery at a time");
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#intent = intent;
    this.#isIntentWritten = false;
    this.#onIntentWritten = resolve;
    this.schedule();
    return promise;
  }

  /**
   * Whether the intent of the delivery with this name is on disk, so that the delivery may begin.
   */
  hasWrittenIntent(name: string): boolean {
    return this.#isIntentWritten && this.#intent?.name === name;
  }

  /**
   * Removes the intent of a batched delivery that has ended, in the commit that writes the outcomes
   * of its events.
   */
  clearIntent(): void {
    this.#intent = undefined;
    this.#scheduleSoon();
  }

  /**
   * Records the final outcome of outputs: events that user code made of received events. Once all
   * outputs of a received event have a final outcome, the event is settled, and a commit is
   * scheduled.
   */
  settle(outputs: readonly Output[], outcome: EventOutcome): void {
    if (outputs.length === 0) return;
    const { clock, metrics, liveTail, latestOutcomes, memory, work } = this.#parts;
    const { labels, health, replays } = this.#parts;
    const destination = this.#parts.destination();
    const now = clock.now();
    const history = metrics.histories.get(labels.destination);
    metrics.events.inc({ ...labels, outcome: outcome.kind }, outputs.length);
    health.recordOutcome(outputs.length, outcome);
    const { kind } = outcome;
    if (kind !== "discarded") {
      const record = (id: string, count: number) => history.recordOutcome(id, kind, now, count);
      forEachSource(outputs, ({ input }) => input.sourceId, record);
      liveTail.publishOutcomes(outputs, outcome, destination, now);
      latestOutcomes.add(outputs, outcome, destination, now);
    }
    const wasFull = memory.isFull;
    const settledBefore = this.#settled.length;
    for (const output of outputs) {
      const { laneEvent } = output;
      assert(laneEvent.openOutputs > 0, "Each output of an event settles once");
      if (outcome.kind === "dead-letter") {
        laneEvent.deadLetters ??= [];
        laneEvent.deadLetters.push(createDeadLetter(output, outcome, destination, now));
      }
      laneEvent.openOutputs -= 1;
      if (outcome.kind === "delivered") laneEvent.isDelivered = true;
      if (outcome.kind === "discarded") laneEvent.isDiscarded = true;
      if (laneEvent.openOutputs > 0) continue;
      this.#settled.push(laneEvent);
      if ("replayId" in laneEvent.origin) replays.settle(laneEvent.origin, laneEvent, outcome);
    }
    const settled = this.#settled.length - settledBefore;
    if (settled === 0) return;
    memory.settle(settled);
    if (wasFull) work.notify();
    this.#scheduleSoon();
  }

  /** Schedules a commit if the outage is at least `#outageStepMs` longer than its stored length. */
  noteOutage(): void {
    const grownMs = (this.#parts.failureRecord().outageMs ?? 0) - this.#writtenOutageMs;
    if (grownMs >= this.#outageStepMs) this.schedule();
  }

  /**
   * Makes the ledger write this lane's changes as soon as possible. Even without new outcomes, this
   * writes the read position. The log can be trimmed only up to the position on disk.
   */
  schedule(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#isDiscarded) this.#parts.ledger.schedule(this);
  }

  /** Whether nothing is in progress: no commit, no batched delivery and no requeued letter. */
  get isIdle(): boolean {
    const parts = [this.#pending, this.#intent, this.#timer, ...this.requeuedIds];
    return parts.every((part) => part === undefined);
  }

  /** Stops writing. Outcomes of this destination's events that are not written yet are lost. */
  discard(): void {
    this.#isDiscarded = true;
    clearTimeout(this.#timer);
  }

  collect(): LaneChange | undefined {
    if (this.#isDiscarded) return undefined;
    const { reader, replays } = this.#parts;
    const destinationId = this.#parts.destination().id;
    const events = this.#settled;
    this.#settled = [];
    const settledRequeued: SettledLetter[] = [];
    for (const event of events) {
      const { origin } = event;
      if ("requeued" in origin) settledRequeued.push(settledLetter(event, origin));
      else if ("connectionId" in origin) reader.settle(origin.log, origin.sequence);
    }
    const jobs = replays.progress();
    const record: LaneRecord = { ...reader.record(), ...this.#parts.failureRecord() };
    if (this.#intent !== undefined) record.sealed = this.#intent;
    if (events.length === 0 && jobs.length === 0) {
      const { ledger, isRunning } = this.#parts;
      const stepMs = isRunning() ? this.#outageStepMs : 1;
      if (isStored(ledger.lane(destinationId), record, stepMs)) return undefined;
    }
    this.#writtenOutageMs = record.outageMs ?? 0;
    const deadLetters = events.flatMap((event) => event.deadLetters ?? []);
    const change: LaneChange = { destinationId, record, deadLetters, settledRequeued, jobs };
    this.#pending = { change, events, lows: reader.lows(), replayLows: replays.lows() };
    return change;
  }

  committed(change: LaneChange): void {
    const { reader, replays, memory, work } = this.#parts;
    const pending = this.#pending;
    assert(pending?.change === change, "A lane's changes are committed in order, each once");
    this.#pending = undefined;
    if (this.#intent !== undefined && change.record.sealed === this.#intent) {
      this.#isIntentWritten = true;
      this.#onIntentWritten?.();
    }
    reader.committed(pending.lows);
    replays.committed(change.jobs!, pending.replayLows);
    const wasFull = memory.isFull;
    memory.commit(pending.events);
    for (const { id } of change.settledRequeued) this.requeuedIds.delete(id);
    // A requeued letter that failed again may be requeued once more.
    if (wasFull || change.settledRequeued.length > 0) work.notify();
  }

  fail(error: unknown): void {
    this.#parts.fail(error);
  }

  /**
   * Milliseconds by which an outage must exceed its stored length before its new length is stored.
   * Equals the stored length, raised to at least `DOWN_MS_MIN`, then limited to
   * `OUTAGE_STEP_FRACTION` of the retry window.
   */
  get #outageStepMs(): number {
    const { retryWindowMs } = this.#parts;
    const doubledMs = Math.max(DOWN_MS_MIN, this.#writtenOutageMs);
    return Math.min(doubledMs, retryWindowMs * OUTAGE_STEP_FRACTION);
  }

  #scheduleSoon(): void {
    const { ledger, clock, memory } = this.#parts;
    const isAwaited = this.requeuedIds.size > LANE_REPLAYS_EVENTS_MAX / 2;
    const ms = commitDelayMs(ledger.isShared, clock.now());
    if (isAwaited || memory.isFull) this.schedule();
    else this.#timer ??= setTimeout(() => this.schedule(), ms);
  }
}

/** Returns the outcome of a requeued dead letter. Each of its outputs must have a final outcome. */
function settledLetter(
  { deadLetters, isDelivered, isDiscarded }: LaneEvent,
  { requeued: { id, workspaceId }, jobId }: Extract<Origin, { requeued: StoredLetter }>,
): SettledLetter {
  const [deadLetter] = deadLetters ?? [];
  if (deadLetter !== undefined) return { id, workspaceId, jobId, outcome: "failed", deadLetter };
  const outcome = isDelivered ? "delivered" : isDiscarded ? "discarded" : "dropped";
  return { id, workspaceId, jobId, outcome };
}
