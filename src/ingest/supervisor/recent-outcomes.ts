import type { PixelOutcomes } from "../messages.ts";

/** Time in milliseconds over which outcomes are added up. */
const WINDOW_MS = 60_000;
/** Time in milliseconds for which a refusal counts as present. */
const PRESENT_MS = 10_000;

/** Adds up how many pixels were stored and refused in the last minute. */
export class RecentOutcomes {
  readonly #now: () => number;
  #reports: (PixelOutcomes & { at: number })[] = [];
  #refusedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add({ stored, refused }: PixelOutcomes): void {
    if (stored + refused === 0) return;
    const at = this.#now();
    this.#reports.push({ stored, refused, at });
    if (refused > 0) this.#refusedAt = at;
    this.#forget();
  }

  sum(): PixelOutcomes {
    this.#forget();
    return {
      stored: this.#reports.reduce((sum, { stored }) => sum + stored, 0),
      refused: this.#reports.reduce((sum, { refused }) => sum + refused, 0),
    };
  }

  /** Whether a pixel was refused in the last `PRESENT_MS`. */
  isRefusing(): boolean {
    return this.#now() - this.#refusedAt < PRESENT_MS;
  }

  #forget(): void {
    const from = this.#now() - WINDOW_MS;
    const kept = this.#reports.findIndex(({ at }) => at > from);
    this.#reports = kept < 0 ? [] : this.#reports.slice(kept);
  }
}
