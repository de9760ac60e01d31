import {
  COSTLY_BATCH_CPU_MS,
  COSTLY_PROGRAM_MS,
  CULPRIT_FORGOTTEN_MS,
  GUEST_CULPRITS_MAX,
} from "../../settings/limits.ts";
import type { Program } from "../program.ts";

/**
 * Maximum number of programs whose cost is recorded. Beyond it, the record of the program that was
 * costly longest ago is deleted.
 */
const PROGRAMS_MAX = 10_000;

interface CostRecord {
  /**
   * Number of culprits (events that used up their time or ended their guest process) at the time
   * `changedAt`. The current number is lower by one for each `CULPRIT_FORGOTTEN_MS` since then.
   */
  culprits: number;
  changedAt: number;
  /** Time until which the program counts as costly, in milliseconds by `performance.now()`. */
  until: number;
}

/**
 * Records which programs (user code with its libraries) were costly recently: one of their batches
 * took much CPU time or had a culprit. Costly programs run in the second guest process of their
 * workspace. A culprit is an event that used up its CPU time or ended its guest process, or a load
 * of the program that ended the process.
 */
export class CostlyPrograms {
  readonly #records = new Map<string, CostRecord>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  has({ id }: Program): boolean {
    return (this.#records.get(id)?.until ?? Number.NEGATIVE_INFINITY) > this.now();
  }

  /** Returns how many events of the program's next batch may each use up the whole CPU limit. */
  culpritsLeft({ id }: Program): number {
    return Math.max(0, GUEST_CULPRITS_MAX - this.#culpritsOf(this.#records.get(id)));
  }

  /** Records the number of culprits and the CPU time of a batch. */
  record({ id }: Program, culprits: number, cpuMs: number): void {
    if (culprits === 0 && cpuMs < COSTLY_BATCH_CPU_MS) return;
    const now = this.now();
    const known = this.#records.get(id);
    const before = this.#culpritsOf(known);
    const changedAt =
      known && before > 0
        ? known.changedAt + (known.culprits - before) * CULPRIT_FORGOTTEN_MS
        : now;
    // The last key is the program that was costly last.
    this.#records.delete(id);
    const [oldest] = this.#records.keys();
    if (oldest !== undefined && this.#records.size >= PROGRAMS_MAX) this.#records.delete(oldest);
    this.#records.set(id, {
      culprits: Math.min(GUEST_CULPRITS_MAX, before + culprits),
      changedAt,
      until: now + COSTLY_PROGRAM_MS,
    });
  }

  #culpritsOf(record: CostRecord | undefined): number {
    if (!record) return 0;
    const forgotten = Math.floor((this.now() - record.changedAt) / CULPRIT_FORGOTTEN_MS);
    return Math.max(0, record.culprits - forgotten);
  }
}
