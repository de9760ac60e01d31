import type { Logger } from "pino";
import {
  SUSPENDED_MS_MAX,
  SUSPENDED_MS_MIN,
  SUSPENSION_COST,
  SUSPENSION_COST_OF_CULPRITS,
  SUSPENSION_CPU_MS,
} from "../../settings/limits.ts";
import type { SandboxMetrics } from "../metrics.ts";
import type { Program, ProgramOutcome, UserError } from "../program.ts";

/** Failing programs that are remembered. */
const SUSPENDED_PROGRAMS_MAX = 10_000;

/** A program that is not run until a time, because none of its last batches had a good event. */
export interface ProgramSuspension {
  programId: string;
  workspaceId: string;
  name: string;
  /** Milliseconds since the epoch. */
  until: number;
  /** The program's last error. */
  reason: string;
}

/** What a batch cost. */
export interface BatchCost {
  /** Events that cost a guest its time or its life. */
  culprits: number;
  cpuMs: number;
  /** Whether a guest did what only a guest does whose code has broken into it. */
  broken: boolean;
}

interface FailureRecord {
  program: Program;
  /** Cost of the failed batches since the last good event or suspension. */
  cost: number;
  /** CPU time of those batches. */
  cpuMs: number;
  batches: number;
  /** Length of the last suspension; 0 before the first. */
  periodMs: number;
  until: number;
  reason: string;
}

/**
 * Keeps programs that only fail from using up their workspace's guest. After enough batches without
 * one good event a program is suspended; then one batch is tried, and if it fails too, the program
 * is suspended for twice as long. A batch that cost a guest its time or its life counts as several
 * failed batches; CPU time alone also suffices, and so does one batch that breaks into its guest. A
 * new revision is a new program.
 */
export class ProgramSuspensions {
  readonly #records = new Map<string, FailureRecord>();
  readonly #metrics: SandboxMetrics;
  readonly #log: Logger;
  readonly #now: () => number;

  constructor(metrics: SandboxMetrics, log: Logger, now: () => number = Date.now) {
    this.#metrics = metrics;
    this.#log = log;
    this.#now = now;
    metrics.countSuspended(() => this.list().length);
  }

  /** The error that a suspended program's events get; undefined when it may run. */
  errorFor(program: Program): UserError | undefined {
    const record = this.#records.get(program.id);
    if (!record || record.until <= this.#now()) return undefined;
    const seconds = Math.ceil(record.periodMs / 1_000);
    const message = `Transformation is suspended for ${seconds} s: failed batches in a row: ${record.batches}, the last with: ${record.reason}`;
    return { message };
  }

  /** CPU time that a program may still use without one good event. */
  cpuMsLeft(program: Program): number {
    return SUSPENSION_CPU_MS - (this.#records.get(program.id)?.cpuMs ?? 0);
  }

  /** Takes note of how a batch went. */
  record(program: Program, outcomes: readonly ProgramOutcome[], spent: BatchCost): void {
    const last = outcomes.at(-1);
    if (!last) return;
    if (!("error" in last) || outcomes.some((outcome) => !("error" in outcome))) {
      const record = this.#records.get(program.id);
      this.#records.delete(program.id);
      if (record !== undefined && record.periodMs > 0) {
        this.#log.info(aboutOf(record), "A suspended transformation works again");
      }
    } else this.#failed(program, last.error.message, spent);
  }

  list(): ProgramSuspension[] {
    const now = this.#now();
    return [...this.#records.values()]
      .filter(({ until }) => until > now)
      .map(({ program, until, reason }) => {
        const { id: programId, workspaceId, name } = program;
        return { programId, workspaceId, name, until, reason };
      });
  }

  #failed(program: Program, reason: string, { culprits, cpuMs, broken }: BatchCost): void {
    const record = this.#records.get(program.id) ?? this.#open(program);
    record.reason = reason.split("\n")[0]!;
    record.batches += 1;
    // Each batch that breaks into its guest costs the start of a guest, and nothing speaks for the
    // program.
    if (broken) record.cost += SUSPENSION_COST;
    else record.cost += culprits > 0 ? SUSPENSION_COST_OF_CULPRITS : 1;
    record.cpuMs += cpuMs;
    const enough = record.cost >= SUSPENSION_COST || record.cpuMs >= SUSPENSION_CPU_MS;
    if (!enough && record.periodMs === 0) return;
    record.cpuMs = 0;
    record.periodMs = Math.min(SUSPENDED_MS_MAX, record.periodMs * 2 || SUSPENDED_MS_MIN);
    record.until = this.#now() + record.periodMs;
    this.#metrics.suspensions.inc();
    // Only the first suspension is logged: the next ones, each twice as long, say nothing new.
    if (record.periodMs > SUSPENDED_MS_MIN) return;
    this.#log.warn(aboutOf(record), "A transformation only fails, and is suspended");
  }

  #open(program: Program): FailureRecord {
    if (this.#records.size >= SUSPENDED_PROGRAMS_MAX) {
      const [oldest] = this.#records.keys();
      this.#records.delete(oldest!);
    }
    const record = { program, cost: 0, cpuMs: 0, batches: 0, periodMs: 0, until: 0, reason: "" };
    this.#records.set(program.id, record);
    return record;
  }
}

/**
 * What the log says of a program; its error is left out, since that is user code's own text and may
 * hold what people sent.
 */
function aboutOf({ program: { workspaceId, id, name }, batches }: FailureRecord) {
  return { workspaceId, programId: id, transformation: name, failedBatches: batches };
}
