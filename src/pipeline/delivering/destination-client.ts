import type { Destination } from "../../catalog/model.ts";
import { defined } from "../../defined.ts";
import type {
  BatchLimits,
  DeliveryResult,
  DestinationKind,
  OpenDestination,
  OutgoingEvent,
} from "../../destinations/destination.ts";
import type { Logger } from "../../observe/log.ts";
import type { Clock } from "../clock.ts";
import { type AttemptResult, fullRefusal } from "../model/attempt.ts";
import type { Output } from "../model/lane-event.ts";
import type { FailureRecord } from "../model/lane-record.ts";
import type { HealthLogger } from "../monitoring/health-logger.ts";
import type { FailureState, LaneLabels, LastFailure } from "../monitoring/lane-gauges.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";
import { AttemptMasking } from "./attempt-masking.ts";

interface OpenClient {
  destination: OpenDestination;
  deliveries: number;
  isRetired: boolean;
}

/**
 * Minimum length in milliseconds of an outage for a call of `onRecovery`. The call is made at the
 * receiver's first answer after the outage.
 */
const UNREACHABLE_MS_MIN = 2_000;
/**
 * Number of successive deliveries with all events refused after which the receiver counts as
 * failing. While `hasDelivered` is false, one such delivery is enough.
 */
const REFUSALS_MIN = 3;

/** Facts about a destination that are kept after its idle `DestinationClient` was closed. */
export type DestinationPast = Pick<DestinationClient, "hasDelivered" | "lastFailure">;

export interface DestinationClientParts {
  clock: Pick<Clock, "elapsed" | "now">;
  metrics: Pick<LaneMetrics, "deliverySeconds" | "attempts" | "histories">;
  logger: Logger;
  health: Pick<HealthLogger, "recordAttempt">;
  labels: LaneLabels;
  /**
   * The destination's failure as an earlier process stored it: for how long all attempts had
   * failed, or for how long the receiver had refused all events. Its fields are undefined if the
   * destination worked.
   */
  earlierFailure: FailureRecord;
  past?: DestinationPast | undefined;
}

/**
 * Sends the deliveries to one destination and tracks whether the destination works. Opens the
 * destination at the first delivery, and opens it again after its config has changed.
 */
export class DestinationClient {
  readonly #abort = new AbortController();
  readonly #closing = new Set<Promise<void>>();
  /**
   * Config and workspace of the destination. Replaced only when the config changes, because
   * `deliver` compares configs by identity.
   */
  #destination: Pick<Destination, "config" | "workspaceId">;
  #masking: AttemptMasking;
  #client: OpenClient | undefined;
  /** Whether the receiver has accepted an event with the current config since the server start. */
  hasDelivered: boolean;
  /**
   * The current outage: set while every attempt fails and is to be repeated, undefined otherwise.
   * - `since`: its start, which may lie before the start of this process.
   * - `at`: time of the last failed attempt; -∞ if this process had none in the outage.
   * - `reason`, `response`: from the last failure.
   */
  failure: (FailureState & { at: number }) | undefined;
  /**
   * Time and cause of the last failed attempt or refused event with the current config. Undefined
   * when there was none.
   */
  lastFailure: LastFailure | undefined;
  /**
   * The current series of deliveries in which the receiver answered but refused every event.
   * Undefined once the receiver accepts an event. `count` is the number of these deliveries;
   * `reason` and `response` are from the last one.
   */
  #refusals: (FailureState & { count: number }) | undefined;

  /** The client calls `onRecovery` when a receiver outage of at least `UNREACHABLE_MS_MIN` ends. */
  constructor(
    private readonly kind: DestinationKind,
    destination: Destination,
    private readonly parts: DestinationClientParts,
    readonly onRecovery: () => void,
  ) {
    this.#destination = destination;
    this.#masking = new AttemptMasking(kind, destination.config);
    const { outageMs, refusedMs, reason = "All attempts failed" } = parts.earlierFailure;
    const known = { reason, at: Number.NEGATIVE_INFINITY, count: REFUSALS_MIN };
    if (outageMs !== undefined) this.failure = { ...this.#now(outageMs), ...known };
    if (refusedMs !== undefined) this.#refusals = { ...this.#now(refusedMs), ...known };
    this.hasDelivered = parts.past?.hasDelivered ?? false;
    this.lastFailure = parts.past?.lastFailure;
  }

  /**
   * The destination's failure as it is stored for the next start: the reason, and for how many
   * milliseconds (at least 1) all attempts have failed or all events were refused. Empty while the
   * destination works.
   */
  get failureRecord(): FailureRecord {
    const { failure, refusal } = this;
    const now = this.parts.clock.elapsed();
    const msOf = (of?: FailureState) => of && Math.max(1, Math.floor(now - of.since));
    const { reason } = failure ?? refusal ?? {};
    return defined({ outageMs: msOf(failure), refusedMs: msOf(refusal), reason });
  }

  /** Maximum number of events in one delivery, as the destination's type and config set it. */
  get batchSize(): number {
    return this.kind.batchSize(this.#destination.config);
  }

  /**
   * Start and reason of the refusals while the receiver refuses all events; undefined otherwise. If
   * events were accepted before, only `REFUSALS_MIN` or more refused deliveries in a row count,
   * because fewer may be due to wrong events.
   */
  get refusal(): FailureState | undefined {
    if (this.#refusals === undefined) return undefined;
    const isSure = !this.hasDelivered || this.#refusals.count >= REFUSALS_MIN;
    return isSure ? this.#refusals : undefined;
  }

  /** Whether the destination works: its last attempt delivered an event, or there was none yet. */
  get isWell(): boolean {
    return this.failure === undefined && this.#refusals === undefined;
  }

  get past(): DestinationPast {
    return { hasDelivered: this.hasDelivered, lastFailure: this.lastFailure };
  }

  /** Returns the batch key of an event. Only events with equal keys may share a delivery. */
  batchKey(output: OutgoingEvent): string {
    return this.kind.batchKey?.(output) ?? "";
  }

  /**
   * Limits of one delivery of a destination that gathers events into large deliveries: its size,
   * and the time for which it waits for more events. For other kinds of destinations, both are 0.
   */
  get batchLimits(): BatchLimits {
    return this.kind.batchLimits?.(this.#destination.config) ?? { bytes: 0, ageMs: 0 };
  }

  update(destination: Destination): void {
    const { config } = destination;
    if (JSON.stringify(config) === JSON.stringify(this.#destination.config)) return;
    this.#destination = destination;
    this.#masking = new AttemptMasking(this.kind, config);
    this.failure = undefined;
    this.lastFailure = undefined;
    this.#refusals = undefined;
    this.hasDelivered = false;
    this.#retire();
  }

  /**
   * Sends events to the destination, and records whether the destination works. If the config was
   * replaced during the attempt, this is not recorded, and a failed or rejected attempt becomes a
   * retry with the new config.
   */
  async deliver(events: readonly Output[], name?: string): Promise<AttemptResult> {
    const { clock, metrics, health, labels } = this.parts;
    const { config } = this.#destination;
    const started = performance.now();
    const masking = this.#masking;
    const delivery = await this.#attempt(events, name);
    const ms = performance.now() - started;
    const result = masking.shown(delivery, events, clock.now() - ms, ms);
    metrics.deliverySeconds.observe({ kind: this.kind.kind }, ms / 1_000);
    metrics.attempts.inc({ ...labels, verdict: result.kind });
    // Attempts that a stop aborts say nothing about the receiver.
    if (result.kind === "retry" && this.#abort.signal.aborted) return result;
    health.recordAttempt(result);
    const history = metrics.histories.get(labels.destination);
    history.recordAttempt(result.kind === "retry", ms, clock.now());
    const isOutdated = config !== this.#destination.config;
    if (!isOutdated) this.#recordResult(result, events.length);
    return isOutdated && result.kind !== "delivered"
      ? { ...result, kind: "retry", isOutdated }
      : result;
  }

  #recordResult(result: AttemptResult, events: number): void {
    const now = this.parts.clock.elapsed();
    // After a shorter time, one wrong event may have been the cause of the failures.
    const wasUnreachable = now - (this.failure?.since ?? now) >= UNREACHABLE_MS_MIN;
    if (result.kind !== "retry" && wasUnreachable) this.onRecovery();
    const refusal = fullRefusal(result, events);
    this.#noteFailure(result);
    if (result.kind === "delivered" && refusal === undefined) {
      this.hasDelivered = true;
      this.#refusals = undefined;
    }
    if (refusal !== undefined) {
      const first = this.#refusals ?? { ...this.#now(), count: 0 };
      this.#refusals = { ...first, ...refusal, count: first.count + 1 };
    }
    if (result.kind === "retry") {
      const { reason, response } = result;
      this.failure = { ...(this.failure ?? this.#now()), at: now, reason, response };
    } else this.failure = undefined;
  }

  #noteFailure(result: AttemptResult): void {
    const at = this.parts.clock.now();
    if (result.kind !== "delivered") {
      this.lastFailure = { at, reason: result.reason, response: result.response };
    } else {
      const [reason] = result.refused?.values() ?? [];
      if (reason !== undefined) this.lastFailure = { at, reason };
    }
  }

  #now(earlierMs = 0): { since: number; startedAt: number } {
    const { clock } = this.parts;
    return { since: clock.elapsed() - earlierMs, startedAt: clock.now() - earlierMs };
  }

  abort(): void {
    this.#abort.abort(new Error("The delivery was stopped"));
  }

  async close(): Promise<void> {
    this.#retire();
    await Promise.all(this.#closing);
  }

  async #attempt(events: readonly OutgoingEvent[], name?: string): Promise<DeliveryResult> {
    let client: OpenClient | undefined;
    try {
      client = this.#open();
      client.deliveries += 1;
      return await client.destination.deliver(events, this.#abort.signal, name);
    } catch (error) {
      // A destination never throws: this is a fault of pixelmill, and the events wait for its end.
      this.parts.logger.error({ ...this.parts.labels, err: error }, "delivery threw an error");
      return { kind: "retry", reason: "The delivery failed to run" };
    } finally {
      if (client !== undefined) {
        client.deliveries -= 1;
        this.#closeWhenIdle(client);
      }
    }
  }

  #open(): OpenClient {
    this.#client ??= {
      destination: this.kind.open(this.#destination.config, this.#destination.workspaceId),
      deliveries: 0,
      isRetired: false,
    };
    return this.#client;
  }

  #retire(): void {
    if (this.#client === undefined) return;
    this.#client.isRetired = true;
    this.#closeWhenIdle(this.#client);
    this.#client = undefined;
  }

  #closeWhenIdle(client: OpenClient): void {
    if (!client.isRetired || client.deliveries > 0) return;
    const closing = this.#close(client).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /**
   * Closes a destination after its last delivery. Logs an error instead of throwing it, because no
   * further delivery uses the destination.
   */
  async #close({ destination }: OpenClient): Promise<void> {
    try {
      await destination.close();
    } catch (error) {
      this.parts.logger.error({ ...this.parts.labels, err: error }, "destination failed to close");
    }
  }
}
