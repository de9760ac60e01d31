import type { PixelOutcomes } from "../messages.ts";

/** Time in milliseconds over which stored and refused pixels are added up. */
const WINDOW_MS = 60_000;
/** Time in milliseconds for which a refusal counts as present if no pixel was stored after it. */
const PRESENT_MS = 10_000;
/** Replaces `PRESENT_MS` if a pixel was stored after the last refusal, to show recovery soon. */
const PRESENT_MS_STORING = 2_000;

/** Adds up how many pixels were stored and refused in the last minute. */
export class RecentOutcomes {
  readonly #now: () => number;
  #reports: (PixelOutcomes & { at: number })[] = [];
  #refusedAt = Number.NEGATIVE_INFINITY;
  #storedAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add({ stored, refused }: PixelOutcomes): void {
    if (stored + refused === 0) return;
    const at = this.#now();
    this.#reports.push({ stored, refused, at });
    if (refused > 0) this.#refusedAt = at;
    if (stored > 0) this.#storedAt = at;
    this.#forget();
  }

  sum(): PixelOutcomes {
    this.#forget();
    return {
      stored: this.#reports.reduce((sum, { stored }) => sum + stored, 0),
      refused: this.#reports.reduce((sum, { refused }) => sum + refused, 0),
    };
  }

  /** Whether the server still refuses pixels, judged by the time of the last reported refusal. */
  isRefusing(): boolean {
    const isStoring = this.#storedAt > this.#refusedAt;
    return this.#now() - this.#refusedAt < (isStoring ? PRESENT_MS_STORING : PRESENT_MS);
  }

  #forget(): void {
    const from = this.#now() - WINDOW_MS;
    const kept = this.#reports.findIndex(({ at }) => at > from);
    this.#reports = kept < 0 ? [] : this.#reports.slice(kept);
  }
}
