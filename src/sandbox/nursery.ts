import type { Logger } from "pino";
import { GUEST_RESTART_DELAY_MS_MAX, GUEST_RESTART_DELAY_MS_MIN } from "../limits.ts";
import { GuestGone } from "./dialogue.ts";
import { Guest } from "./guest.ts";
import { languages } from "./languages.ts";
import type { SandboxMetrics } from "./metrics.ts";
import { type GuestLanguage, SandboxUnavailable } from "./program.ts";
import { Rota } from "./rota.ts";

/** Guests in a row that may fail to start before the sandbox counts as unavailable. */
const START_FAILURES_MAX = 3;

export interface SandboxStatus {
  state: "starting" | "ready" | "unavailable";
  /** Why user code does not run, or what its confinement lacks. */
  reason?: string;
  /** User code runs although it is not confined. */
  insecure: boolean;
}

export interface NurseryOptions {
  /** Starts a guest; the language is appended. */
  guestCommand: readonly string[];
  insecure: boolean;
  log: Logger;
  metrics: SandboxMetrics;
  graceMs: number;
  watchMs: number;
}

/**
 * Brings guests up: started, confined, verified, not yet anybody's. Keeps warm spares, watches
 * what every guest uses, and waits longer and longer when guests do not even start.
 */
export class Nursery {
  readonly #options: NurseryOptions;
  readonly #spares = new Map<GuestLanguage, Promise<Guest>[]>();
  readonly #alive = new Set<Guest>();
  readonly #watch: Timer;
  readonly #rota = new Rota<Guest>();
  #status: SandboxStatus;
  #failures = 0;
  #retryAt = 0;
  #closed = false;

  constructor(options: NurseryOptions) {
    this.#options = options;
    this.#status = { state: "starting", insecure: options.insecure };
    this.#watch = setInterval(() => {
      for (const guest of this.#alive) guest.watch(options.graceMs, this.#rota.dueShare);
      this.#rota.look(this.#alive, performance.now());
    }, options.watchMs);
    for (const [language, terms] of Object.entries(languages)) {
      if (terms.sparesFromStart) this.#refill(language as GuestLanguage);
    }
  }

  status(): SandboxStatus {
    return this.#status;
  }

  /** A guest that has seen no code yet. Rejects with `SandboxUnavailable`. */
  async take(language: GuestLanguage): Promise<Guest> {
    for (;;) {
      try {
        const guest = await (this.#spares.get(language)?.shift() ?? this.#start(language));
        this.#refill(language);
        // A spare may have died while it waited.
        if (!guest.dying) return guest;
      } catch (error) {
        // One that does not start may be an accident.
        if (this.#closed || this.#failures >= START_FAILURES_MAX) throw error;
        await Bun.sleep(Math.max(0, this.#retryAt - performance.now()));
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#watch);
    for (const guest of this.#alive) guest.kill("retired");
    await Promise.allSettled([...this.#spares.values()].flat());
  }

  #refill(language: GuestLanguage): void {
    const spares = this.#spares.get(language) ?? [];
    this.#spares.set(language, spares);
    while (!this.#closed && this.#failures === 0 && spares.length < languages[language].spares) {
      const spare = this.#start(language);
      spare.catch(() => {
        const index = spares.indexOf(spare);
        if (index >= 0) spares.splice(index, 1);
      });
      spares.push(spare);
    }
  }

  async #start(language: GuestLanguage): Promise<Guest> {
    if (this.#closed) throw new SandboxUnavailable("Sandbox is closed");
    if (performance.now() < this.#retryAt) {
      throw new SandboxUnavailable(this.#status.reason ?? "Guests do not start");
    }
    let guest: Guest | undefined;
    try {
      guest = this.#spawn(language);
      const { ready, reason } = await guest.start(this.#options.insecure);
      if (!ready) throw new SandboxUnavailable(`User code cannot run: ${reason}`);
      this.#started(reason);
      return guest;
    } catch (error) {
      guest?.kill("retired");
      throw this.#failed(error, guest);
    }
  }

  #spawn(language: GuestLanguage): Guest {
    const { guestCommand, log, metrics } = this.#options;
    const guest = new Guest(guestCommand, language, languages[language]);
    this.#alive.add(guest);
    metrics.starts.inc();
    metrics.guests.set(this.#alive.size);
    guest.onEnd = () => {
      this.#alive.delete(guest);
      const { end, code, signal } = guest.ended!;
      metrics.ends.inc({ end });
      metrics.guests.set(this.#alive.size);
      if (end !== "retired") {
        log.warn({ end, code, signal, stderr: guest.stderr }, "guest ended");
      }
    };
    return guest;
  }

  #started(reason: string | undefined): void {
    this.#failures = 0;
    const { insecure } = this.#options;
    if (reason !== undefined && this.#status.reason !== reason) {
      this.#options.log.warn({ reason }, "user code runs without confinement");
    }
    this.#status =
      reason === undefined
        ? { state: "ready", insecure: false }
        : { state: "ready", reason, insecure };
  }

  /** Without a guest when the system did not even make its process. */
  #failed(error: unknown, guest: Guest | undefined): SandboxUnavailable {
    const refused = error instanceof SandboxUnavailable;
    const delayMs = GUEST_RESTART_DELAY_MS_MIN * 2 ** this.#failures;
    this.#retryAt = performance.now() + Math.min(delayMs, GUEST_RESTART_DELAY_MS_MAX);
    this.#failures = refused ? START_FAILURES_MAX : this.#failures + 1;
    const cause = error instanceof GuestGone ? error.end : error;
    const unavailable = refused ? error : new SandboxUnavailable(`Guests do not start: ${cause}`);
    if (!this.#closed && this.#failures >= START_FAILURES_MAX) {
      this.#status = {
        state: "unavailable",
        reason: unavailable.message,
        insecure: this.#options.insecure,
      };
      this.#options.log.error(
        { reason: unavailable.message, stderr: guest?.stderr },
        "guest did not start",
      );
    }
    return unavailable;
  }
}
