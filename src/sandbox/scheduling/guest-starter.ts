import { availableParallelism } from "node:os";
import type { Logger } from "pino";
import { PrioritySemaphore } from "../../concurrency/priority-semaphore.ts";
import type { SandboxMetrics } from "../metrics.ts";
import { Guest } from "../process/guest.ts";
import { GuestEndedError } from "../process/guest-end.ts";
import { languageProfiles } from "../process/language-profiles.ts";
import type { GuestLanguage } from "../program.ts";
import { SandboxUnavailable } from "../sandbox.ts";
import { CpuScheduler } from "./cpu-scheduler.ts";
import { GuestStartHealth, type SandboxStatus, sandboxStatus } from "./guest-start-health.ts";
import { describeStartFailure } from "./start-failure.ts";

/**
 * Maximum milliseconds that the server waits for the exit of a guest process that failed to start.
 * The error message contains the process's standard error, which is complete only after the exit.
 */
const STDERR_READ_MS_MAX = 2_000;
/**
 * Delay of the watch timer in milliseconds above which the whole server is assumed to have stood
 * still, such as on a suspended machine. The delay then does not count towards the time limits of
 * guest processes.
 */
const STANDSTILL_MS_MIN = 500;
/**
 * Milliseconds above which a caller's wait for a guest process means that no spare guest was ready.
 * The next spare guest then starts only after `refillPauseMs`.
 */
const WAIT_MS_MIN = 5;

export interface GuestStarterOptions {
  /** Command to start a guest, such as `[process.execPath, "guest"]`; the language is appended. */
  guestCommand: readonly string[];
  /** Whether user code may run even if the kernel cannot confine it completely. */
  insecure: boolean;
  log: Logger;
  metrics: SandboxMetrics;
  graceMs: number;
  watchMs: number;
  /** Number of spare guest processes per language. */
  spares: number;
}

/**
 * Starts guest processes, which are confined and verified before they are used. Keeps spare guests
 * ready, enforces the limits of every guest, and delays further starts while starts fail.
 */
export class GuestStarter {
  /** Called every `watchMs` milliseconds, after the limits of all guest processes were enforced. */
  onWatch: () => void = () => {};
  readonly #spares = new Map<GuestLanguage, Promise<Guest>[]>();
  readonly #alive = new Set<Guest>();
  readonly #watch: Timer;
  readonly #scheduler = new CpuScheduler<Guest>();
  readonly #startHealth: Readonly<Record<GuestLanguage, GuestStartHealth>> = {
    javascript: new GuestStartHealth(),
    python: new GuestStartHealth(),
  };
  /**
   * Permits to start a guest process, as many per language as the machine has processors, because a
   * hundred starts at once would slow down all guests. The waiting workspace whose code has
   * recently ended the fewest guests is next.
   */
  readonly #startPermits: Readonly<Record<GuestLanguage, PrioritySemaphore>> = {
    javascript: new PrioritySemaphore(availableParallelism()),
    python: new PrioritySemaphore(availableParallelism()),
  };
  readonly #retries = new Map<GuestLanguage, Timer>();
  readonly #refills = new Map<GuestLanguage, Timer>();
  #isClosed = false;

  constructor(private readonly options: GuestStarterOptions) {
    let watchedAt = performance.now();
    this.#watch = setInterval(() => {
      const lateMs = performance.now() - watchedAt - options.watchMs;
      watchedAt = performance.now();
      for (const guest of this.#alive) {
        if (lateMs > STANDSTILL_MS_MIN) guest.extendDeadline(lateMs);
        guest.enforceLimits(options.graceMs, this.#scheduler.fairShareOf(guest));
      }
      this.onWatch();
      this.#scheduler.schedule(this.#alive, performance.now());
    }, options.watchMs);
    for (const [language, profile] of Object.entries(languageProfiles)) {
      if (profile.sparesFromStart) this.#refill(language as GuestLanguage);
    }
  }

  get aliveCount(): number {
    return this.#alive.size;
  }

  status(): SandboxStatus {
    return sandboxStatus(Object.values(this.#startHealth), this.options.insecure);
  }

  /**
   * Memory in bytes that would become free if all guest processes ended, according to the last
   * measurement.
   */
  get memoryBytes(): number {
    return [...this.#alive].reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  }

  /**
   * Resolves with a guest process that has run no user code: a spare one if `losses` is 0 and there
   * is one, otherwise a new one. `losses` counts guests that the caller's code has recently ended.
   * Rejects with `SandboxUnavailable` when guests do not start.
   */
  async acquire(language: GuestLanguage, losses: number): Promise<Guest> {
    const health = this.#startHealth[language];
    for (;;) {
      try {
        const spare = losses === 0 ? this.#spares.get(language)?.shift() : undefined;
        const askedAt = performance.now();
        const guest = await (spare ?? this.#startWithPermit(language, losses));
        const hasWaited = performance.now() - askedAt > WAIT_MS_MIN;
        this.#refillAfter(language, hasWaited ? languageProfiles[language].refillPauseMs : 0);
        // A spare guest may have died before it was needed.
        if (!guest.dying) return guest;
      } catch (error) {
        // A single guest that does not start may be an accident.
        if (this.#isClosed || health.unavailable) throw error;
        await Bun.sleep(health.delayMs);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#watch);
    for (const timer of [...this.#retries.values(), ...this.#refills.values()]) clearTimeout(timer);
    for (const guest of this.#alive) guest.kill("retired");
    await Promise.allSettled([...this.#spares.values()].flat());
  }

  /**
   * Starts the missing spare guests of a language after `pauseMs` milliseconds. Replaces the start
   * that an earlier call has scheduled for this language.
   */
  #refillAfter(language: GuestLanguage, pauseMs: number): void {
    clearTimeout(this.#refills.get(language));
    const refill = () => this.#refill(language);
    if (pauseMs === 0) refill();
    else this.#refills.set(language, setTimeout(refill, pauseMs));
  }

  #refill(language: GuestLanguage): void {
    const spares = this.#spares.getOrInsert(language, []);
    const { delayMs } = this.#startHealth[language];
    while (!this.#isClosed && delayMs === 0 && spares.length < this.options.spares) {
      const spare = this.#startWithPermit(language, 0);
      spare.catch(() => {
        const index = spares.indexOf(spare);
        if (index >= 0) spares.splice(index, 1);
      });
      spares.push(spare);
    }
  }

  async #startWithPermit(language: GuestLanguage, losses: number): Promise<Guest> {
    const permits = this.#startPermits[language];
    using _permit = permits.tryAcquire() ?? (await permits.acquire(losses));
    return await this.#start(language);
  }

  async #start(language: GuestLanguage): Promise<Guest> {
    if (this.#isClosed) throw new SandboxUnavailable("Sandbox is closed");
    const health = this.#startHealth[language];
    if (health.delayMs > 0) throw new SandboxUnavailable(health.reason!);
    let guest: Guest | undefined;
    try {
      guest = this.#spawn(language);
      const { ready, reason } = await guest.start(this.options.insecure);
      if (!ready) throw new SandboxUnavailable(`User code cannot run: ${reason}`);
      this.#handleStart(language, reason);
      return guest;
    } catch (error) {
      guest?.kill("retired");
      if (error instanceof GuestEndedError)
        await Promise.race([guest!.exited, Bun.sleep(STDERR_READ_MS_MAX)]);
      throw this.#handleFailure(language, error, guest);
    }
  }

  #spawn(language: GuestLanguage): Guest {
    const { guestCommand, log, metrics } = this.options;
    const guest = new Guest(guestCommand, language, languageProfiles[language]);
    this.#alive.add(guest);
    metrics.starts.inc();
    metrics.guests.set(this.#alive.size);
    guest.onEnd = () => {
      this.#alive.delete(guest);
      const { end, code, signal } = guest.ended!;
      metrics.ends.inc({ end });
      metrics.guests.set(this.#alive.size);
      if (guest.hostFault)
        log.error({ err: guest.hostFault }, "guest process killed after an error in the host");
      else if (end !== "retired") {
        log.warn({ end, code, signal, stderr: guest.stderr }, "guest process ended");
      }
    };
    return guest;
  }

  #handleStart(language: GuestLanguage, confinementGap: string | undefined): void {
    const health = this.#startHealth[language];
    if (confinementGap !== undefined && health.confinementGap !== confinementGap) {
      this.options.log.warn({ reason: confinementGap }, "user code runs without confinement");
    }
    health.onSuccess(confinementGap);
  }

  /**
   * Records a failed start of a guest process, and returns the error for the caller that needs the
   * guest. `guest` is undefined when the system did not create its process.
   */
  #handleFailure(language: GuestLanguage, error: unknown, guest?: Guest): SandboxUnavailable {
    if (this.#isClosed) return new SandboxUnavailable("Sandbox is closed");
    const health = this.#startHealth[language];
    const refused = error instanceof SandboxUnavailable;
    const guests = language === "python" ? "Python guests" : "Guests";
    const reason = refused
      ? error.message
      : `${guests} do not start: ${describeStartFailure(error, guest)}`;
    if (health.reason !== reason) this.options.log.error({ reason }, "guest process did not start");
    health.onFailure(reason, refused);
    this.#retry(language);
    return refused ? error : new SandboxUnavailable(reason);
  }

  /**
   * Schedules another start of a guest process after a failed one, even if no work will need a
   * guest at that time. If the start succeeds, the language is available again.
   */
  #retry(language: GuestLanguage): void {
    clearTimeout(this.#retries.get(language));
    // Timers may fire a little early.
    const delayMs = this.#startHealth[language].delayMs + 1;
    const timer = setTimeout(() => this.#refill(language), delayMs);
    this.#retries.set(language, timer);
  }
}
