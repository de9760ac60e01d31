import type { Destination } from "../../catalog/model.ts";
import type {
  BatchLimits,
  DeliveryResult,
  DestinationKind,
  OpenDestination,
  OutgoingEvent,
} from "../../destinations/destination.ts";
import type { Logger } from "../../observe/log.ts";
import type { Clock } from "../clock.ts";
import type { AttemptCounts } from "../model/lane-event.ts";
import type { HealthLogger } from "../monitoring/health-logger.ts";
import type { FailureState, LaneLabels } from "../monitoring/lane-gauges.ts";
import type { LaneMetrics } from "../monitoring/metrics.ts";

interface Opened {
  destination: OpenDestination;
  deliveries: number;
  retired: boolean;
}

const DARK_MS_MIN = 2_000;
/** Deliveries in a row that a receiver which took others must refuse to count as failing. */
const REFUSALS_MIN = 3;

export interface DestinationClientParts {
  clock: Clock;
  metrics: LaneMetrics;
  logger: Logger;
  announcements: HealthLogger;
  labels: LaneLabels;
}

/**
 * The receiver of one lane: its open destination, which is opened for the first delivery and
 * reopened when its config changes.
 */
export class DestinationClient {
  readonly #parts: DestinationClientParts;
  readonly #kind: DestinationKind;
  readonly #labels: LaneLabels;
  readonly #cut = new AbortController();
  readonly #closing = new Set<Promise<void>>();
  readonly #workspaceId: string;
  #config: Record<string, unknown>;
  #opened: Opened | undefined;
  /** Attempts that got through, and attempts that failed but may work later. */
  tally: AttemptCounts = { delivered: 0, failed: 0 };
  /**
   * Set while every attempt fails, since the receiver last answered: when the first and the last
   * attempt failed, by `clock.elapsed`, and why the last.
   */
  failure: (FailureState & { at: number }) | undefined;
  /**
   * Set while the receiver answers and refuses everything, since something was last delivered:
   * how many deliveries, and why the last.
   */
  #refusals: (FailureState & { count: number }) | undefined;
  /**
   * How often the receiver answered again after a time of at least `DARK_MS_MIN` in which nothing
   * got through.
   */
  recoveries = 0;

  constructor(kind: DestinationKind, destination: Destination, parts: DestinationClientParts) {
    this.#parts = parts;
    this.#kind = kind;
    this.#labels = parts.labels;
    this.#workspaceId = destination.workspaceId;
    this.#config = destination.config;
  }

  get batchSize(): number {
    return this.#kind.batchSize(this.#config);
  }

  /** The refusals, once they tell of more than of a wrong event among good ones. */
  get refusal(): FailureState | undefined {
    if (this.#refusals === undefined) return undefined;
    const isTelling = this.tally.delivered === 0 || this.#refusals.count >= REFUSALS_MIN;
    return isTelling ? this.#refusals : undefined;
  }

  /** Only outputs for which this is equal may go in one delivery. */
  shareKey(output: OutgoingEvent): string {
    return this.#kind.batchKey?.(output) ?? "";
  }

  /** Of a kind that gathers. */
  get gathering(): BatchLimits {
    return this.#kind.batchLimits?.(this.#config) ?? { bytes: 0, ageMs: 0 };
  }

  update({ config }: Destination): void {
    if (JSON.stringify(config) === JSON.stringify(this.#config)) return;
    this.#config = config;
    this.failure = undefined;
    this.#refusals = undefined;
    this.#retire();
  }

  async deliver(events: readonly OutgoingEvent[], name?: string): Promise<DeliveryResult> {
    const { clock, metrics, announcements } = this.#parts;
    const started = performance.now();
    const verdict = await this.#attempt(events, name);
    const ms = performance.now() - started;
    metrics.deliverySeconds.observe({ kind: this.#kind.kind }, ms / 1_000);
    metrics.attempts.inc({ ...this.#labels, verdict: verdict.kind });
    // Attempts that a stop cuts say nothing about the receiver.
    if (!this.#cut.signal.aborted) {
      announcements.attempted(verdict);
      metrics.histories
        .of(this.#labels.destination)
        .attempted(verdict.kind === "retry", ms, clock.now());
    }
    const { delivered, failed } = this.tally;
    if (verdict.kind !== "retry" && this.#wasDark()) this.recoveries += 1;
    const refused = refusalOf(verdict, events.length);
    if (verdict.kind === "delivered" && refused === undefined) {
      this.tally = { delivered: delivered + 1, failed };
      this.#refusals = undefined;
    }
    if (refused !== undefined) {
      const { count = 0, ...began } = this.#refusals ?? this.#now();
      this.#refusals = { ...began, count: count + 1, reason: refused };
    }
    if (verdict.kind === "retry") {
      this.tally = { delivered, failed: failed + 1 };
      const began = this.failure ?? this.#now();
      this.failure = { ...began, at: clock.elapsed(), reason: verdict.reason };
    } else this.failure = undefined;
    return verdict;
  }

  #now(): { since: number; date: number; count?: number } {
    const { clock } = this.#parts;
    return { since: clock.elapsed(), date: clock.now() };
  }

  /**
   * Whether nothing got through for a while. One wrong event that fails between others that get
   * through does not count.
   */
  #wasDark(): boolean {
    return (
      this.failure !== undefined && this.#parts.clock.elapsed() - this.failure.since >= DARK_MS_MIN
    );
  }

  abort(): void {
    this.#cut.abort(new Error("The delivery was stopped"));
  }

  async close(): Promise<void> {
    this.#retire();
    await Promise.all(this.#closing);
  }

  async #attempt(events: readonly OutgoingEvent[], name?: string): Promise<DeliveryResult> {
    let opened: Opened | undefined;
    try {
      opened = this.#open();
      opened.deliveries += 1;
      return await opened.destination.deliver(events, this.#cut.signal, name);
    } catch (error) {
      // A destination answers with verdicts and never throws; this is a fault of ours, and the
      // events wait until it is mended.
      this.#parts.logger.error({ ...this.#labels, err: error }, "A delivery failed to run");
      return { kind: "retry", reason: "The delivery failed to run" };
    } finally {
      if (opened !== undefined) {
        opened.deliveries -= 1;
        this.#closeWhenIdle(opened);
      }
    }
  }

  #open(): Opened {
    this.#opened ??= {
      destination: this.#kind.open(this.#config, this.#workspaceId),
      deliveries: 0,
      retired: false,
    };
    return this.#opened;
  }

  #retire(): void {
    if (this.#opened === undefined) return;
    this.#opened.retired = true;
    this.#closeWhenIdle(this.#opened);
    this.#opened = undefined;
  }

  #closeWhenIdle(opened: Opened): void {
    if (!opened.retired || opened.deliveries > 0) return;
    const closing = this.#end(opened).finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  /**
   * Closes a destination. Nobody waits for the close that a new config causes, so a failure is only
   * logged.
   */
  async #end({ destination }: Opened): Promise<void> {
    try {
      await destination.close();
    } catch (error) {
      this.#parts.logger.error({ ...this.#labels, err: error }, "A destination failed to close");
    }
  }
}

/** Why nothing of a delivery was taken; undefined when something was, or may be later. */
function refusalOf(verdict: DeliveryResult, events: number): string | undefined {
  if (verdict.kind === "rejected") return verdict.reason;
  const refused = verdict.kind === "delivered" ? verdict.refused : undefined;
  return refused?.size === events ? refused.values().next().value : undefined;
}
