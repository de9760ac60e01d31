import type { Guest } from "../../../src/sandbox/process/guest.ts";
import type { ExchangeLimits } from "../../../src/sandbox/process/guest-channel.ts";
import { type GuestEndCause, GuestEndedError } from "../../../src/sandbox/process/guest-end.ts";
import type { GuestSource } from "../../../src/sandbox/process/guest-source.ts";
import type { GuestFrame, JsonTexts } from "../../../src/sandbox/protocol/guest-frames.ts";
import {
  type HostRequest,
  type LoadReply,
  type LoadRequest,
  OPEN,
  type RunReply,
  type RunRequest,
} from "../../../src/sandbox/protocol/guest-protocol.ts";

/** An event, the CPU time that a guest needs for it, and the cause for which it ends the guest. */
export interface SimulatedEvent {
  n: number;
  cpuMs: number;
  ends?: GuestEndCause;
}

/** CPU time of an event that loops; JSON has no infinity. */
export const ENDLESS = 1e9;

export interface SimulatedRun {
  /** Numbers of the events of the frame. */
  events: number[];
  /** CPU time that the guest was allowed for the frame, and the time that it used. */
  cpuMs: number;
  usedMs: number;
}

/** CPU time beyond its limit after which the host kills a guest. */
const GRACE_MS = 500;

/**
 * Provides guests without processes: each calculates from its events what a guest with sync code
 * replies, when the machine gives it the part `share` of a processor.
 */
export class SimulatedGuests implements GuestSource {
  readonly isLeaving = false;
  readonly runs: SimulatedRun[] = [];
  /** Loads of the program: its number, and the numbers of those that are dropped. */
  readonly loads: { program: number; drop: readonly number[] }[] = [];
  /** CPU time that the top level of the program needs, and the time that its loads used. */
  loadMs = 0;
  loadsUsedMs = 0;
  /** Parts of a processor that the first loads get, where they are others than those of runs. */
  readonly loadShares: number[] = [];
  starts = 0;
  /** Whether guests have another program, too. */
  isShared = false;
  /** Error that the code throws for several events at once, as by `transformBatch`. */
  batchError: string | undefined;
  /** Called with each event that runs. */
  onEvent: (n: number) => void = () => {};
  /** Whether guests do not know which of several events used up the time, as with async code. */
  isCulpritUnknown = false;
  readonly #share: number;
  readonly #isPython: boolean;
  #guest: Guest | undefined;

  /**
   * Guests of Python stop code by its CPU time, and do not measure that of one event; those of
   * JavaScript stop it by the clock.
   */
  constructor(share = 1, isPython = false) {
    this.#share = share;
    this.#isPython = isPython;
  }

  get usedMs(): number {
    return this.runs.reduce((sum, { usedMs }) => sum + usedMs, 0);
  }

  /** Makes the next guest one that has run events before. */
  warm(): void {
    this.guest().eventCount = 1;
  }

  guest(): Guest {
    this.#guest ??= this.#start();
    return this.#guest;
  }

  #start(): Guest {
    this.starts += 1;
    let number = 0;
    return {
      eventCount: 0,
      softTimeouts: 0,
      busy: false,
      programs: new Map(this.isShared ? [["other", 0]] : []),
      loads: new Map(),
      unloadedPrograms: [],
      programsMax: 10,
      assign() {},
      nextProgramNumber: () => ++number,
      request: (
        header: HostRequest,
        body: readonly JsonTexts[],
        limits: ExchangeLimits,
        parse: (frame: GuestFrame) => unknown,
      ) => this.#request(header, body, limits, parse),
    } as unknown as Guest;
  }

  async #request(
    header: HostRequest,
    body: readonly JsonTexts[],
    limits: ExchangeLimits,
    parse: (frame: GuestFrame) => unknown,
  ): Promise<unknown> {
    if (header.kind === "run") {
      const { reply, outputs } = this.#run(header, body[0]!, limits);
      return parse({ header: reply, body: Buffer.from(outputs.join("\n")) } as GuestFrame);
    }
    if (header.kind === "load") {
      this.loads.push({ program: header.program, drop: header.drop });
      return parse({ header: this.#load(header, limits), body: Buffer.alloc(0) } as never);
    }
    const kind = header.kind === "inspect" ? "inspected" : "loaded";
    return parse({ header: { kind, imports: [] }, body: Buffer.alloc(0) } as unknown as GuestFrame);
  }

  #load({ budgetMs }: LoadRequest, limits: ExchangeLimits): LoadReply {
    const share = this.loadShares.shift() ?? this.#share;
    const allowedMs = this.#isPython ? budgetMs : budgetMs * share;
    const usedMs = Math.min(this.loadMs, allowedMs);
    this.loadsUsedMs += usedMs;
    limits.meter!.cpuMs += usedMs;
    if (usedMs > limits.cpuMs + GRACE_MS) throw this.#kill("timeout");
    if (this.loadMs <= allowedMs) return { kind: "loaded" };
    const error = { message: "Script execution timed out." };
    return { kind: "loaded", error, ...(!this.#isPython && { usedMs: Math.round(usedMs) }) };
  }

  #run(request: RunRequest, texts: JsonTexts, limits: ExchangeLimits) {
    const events = texts.map((text) => JSON.parse(Buffer.from(text).toString()) as SimulatedEvent);
    const allowedMs = this.#isPython ? request.cpuMs : request.budgetMs * this.#share;
    const reply: RunReply = { kind: "ran", counts: events.map(() => OPEN), errors: [], logs: [] };
    const counts = reply.counts as number[];
    const outputs: string[] = [];
    const run = { events: events.map(({ n }) => n), cpuMs: request.cpuMs, usedMs: 0 };
    this.runs.push(run);
    if (request.logsMax > 0) reply.logs = [{ text: `${events.length} events` }];
    if (this.batchError !== undefined && events.length > 1) {
      reply.stopped = { reason: "failed", error: { message: this.batchError } };
      return { reply, outputs };
    }
    for (const [index, { n, cpuMs, ends }] of events.entries()) {
      this.onEvent(n);
      if (ends) throw this.#kill(ends);
      const before = run.usedMs;
      const usedMs = Math.min(before + cpuMs, allowedMs);
      const limitMs = limits.cpuMs + GRACE_MS;
      limits.meter!.cpuMs += Math.min(usedMs, limitMs) - run.usedMs;
      run.usedMs = Math.min(usedMs, limitMs);
      if (usedMs > limitMs) throw this.#kill("timeout");
      if (usedMs === allowedMs) {
        const culpritMs = Math.round(usedMs - before);
        const known = { culprit: index, ...(!this.#isPython && { culpritMs }) };
        const isUnknown = this.isCulpritUnknown && events.length > 1;
        reply.stopped = { reason: "timeout", ...(!isUnknown && known) };
        break;
      }
      counts[index] = 1;
      outputs.push(JSON.stringify({ n }));
    }
    return { reply, outputs };
  }

  #kill(cause: GuestEndCause): GuestEndedError {
    this.#guest = undefined;
    return new GuestEndedError(cause);
  }
}
