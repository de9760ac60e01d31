import type { Destination } from "../../catalog/model.ts";
import type { DeliveryResult } from "../../destinations/destination.ts";
import type { Logger } from "../../observe/log.ts";
import type { Clock } from "../clock.ts";
import { DOWN_MS_MIN } from "../limits.ts";
import type { EventOutcome } from "../model/lane-event.ts";

/**
 * Minimum time in milliseconds between two warnings that a destination fails. Limits the log output
 * of a destination that fails and recovers again and again.
 */
const LOG_INTERVAL_MS_MIN = 60_000;
/**
 * Interval in milliseconds at which the dead letters of a destination are logged. Each log line has
 * the number of dead letters since the line before it.
 */
const DEAD_LETTERS_MS = 60_000;

interface HealthLoggerParts {
  clock: Pick<Clock, "elapsed">;
  logger: Logger;
  destination(): Pick<Destination, "id" | "name" | "workspaceId">;
}

/**
 * Logs when a destination fails, counts as down, and recovers. Also logs its dead letters: the
 * first at once, later ones as a count per minute. Leaves out errors of user code, because they may
 * hold personal data.
 */
export class HealthLogger {
  #toldAt = Number.NEGATIVE_INFINITY;
  /**
   * The current outage; undefined while there is none. An outage begins with the first logged
   * failure, and ends when the destination answers, even with a refusal. `since` is the outage's
   * start in milliseconds by `clock.elapsed`.
   */
  #outage: { since: number; attempts: number; isDown: boolean } | undefined;
  #letters = { transform: 0, deliver: 0 };
  #summary: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly parts: HealthLoggerParts) {}

  /** Records the result of one delivery attempt, and logs when the destination's health changes. */
  recordAttempt(verdict: DeliveryResult): void {
    if (verdict.kind === "retry") this.#failed(verdict.reason);
    else if (this.#outage !== undefined) this.#ended(this.#outage, verdict.kind);
  }

  recordOutcome(count: number, ending: EventOutcome): void {
    if (ending.kind !== "dead-letter") return;
    const { stage } = ending;
    this.#letters[stage] += count;
    if (this.#summary !== undefined) return;
    const reason = stage === "deliver" ? { reason: ending.reason } : {};
    this.#tellLetters(reason);
  }

  /** Logs the number of dead letters since the last log line about them. */
  close(): void {
    if (this.#letters.transform + this.#letters.deliver > 0) this.#tellLetters({});
    clearTimeout(this.#summary);
  }

  #failed(reason: string): void {
    const now = this.parts.clock.elapsed();
    if (this.#outage === undefined) {
      if (now - this.#toldAt < LOG_INTERVAL_MS_MIN) return;
      this.#toldAt = now;
      this.#outage = { since: now, attempts: 0, isDown: false };
      this.parts.logger.warn({ ...this.#about(), reason }, "destination fails; retrying");
    }
    const outage = this.#outage;
    outage.attempts += 1;
    if (outage.isDown || now - outage.since < DOWN_MS_MIN) return;
    outage.isDown = true;
    const { attempts } = outage;
    const seconds = Math.round((now - outage.since) / 1_000);
    const about = { ...this.#about(), reason, attempts, seconds };
    this.parts.logger.error(about, "destination is down");
  }

  #ended(outage: { since: number; attempts: number }, by: "delivered" | "rejected"): void {
    this.#outage = undefined;
    const { since, attempts } = outage;
    const seconds = Math.round((this.parts.clock.elapsed() - since) / 1_000);
    const ending = by === "delivered" ? "recovered" : "answers again, and refuses events";
    this.parts.logger.info({ ...this.#about(), attempts, seconds }, `destination ${ending}`);
  }

  #tellLetters(more: { reason?: string }): void {
    const { transform, deliver } = this.#letters;
    this.#letters = { transform: 0, deliver: 0 };
    const counts = { failedInCode: transform, notDelivered: deliver };
    this.parts.logger.warn({ ...this.#about(), ...counts, ...more }, "events became dead letters");
    this.#summary = setTimeout(() => {
      this.#summary = undefined;
      if (this.#letters.transform + this.#letters.deliver > 0) this.#tellLetters({});
    }, DEAD_LETTERS_MS);
    this.#summary.unref();
  }

  #about() {
    const { id, name, workspaceId } = this.parts.destination();
    return { workspaceId, destinationId: id, destination: name };
  }
}
