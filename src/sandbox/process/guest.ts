import { GUEST_START_MS_MAX } from "../guest-limits.ts";
import type { GuestLanguage, UserError } from "../program.ts";
import { type GuestFrame, GuestFrameError, type JsonTexts } from "../protocol/guest-frames.ts";
import type { GuestRequest } from "../protocol/guest-protocol.ts";
import { printable } from "../protocol/printable.ts";
import { isStackOverflow, parseStartReply, type StartReport } from "../protocol/reply-parser.ts";
import { type ExchangeLimits, GuestChannel } from "./guest-channel.ts";
import { type GuestEndCause, GuestEndedError } from "./guest-end.ts";
import { GuestSocket } from "./guest-socket.ts";
import type { LanguageProfile } from "./language-profiles.ts";
import { type ExitSignal, type GuestProcess, launchGuest } from "./launch-guest.ts";
import { ResourceMonitor } from "./resource-monitor.ts";

/** Bytes that are kept of a guest's standard error. */
const GUEST_STDERR_BYTES_MAX = 8_192;
/** A guest that writes more than this to standard error is killed; an honest runtime does not. */
const GUEST_STDERR_FLOOD_BYTES = 1 << 20;

const REPLY_BYTES_SMALL = 4_096;

/** The host's end of one guest process: its life, and an eye on what it uses. */
export class Guest {
  readonly startedAt = performance.now();
  /** Program ids that are loaded, least recently used first, with their number in the guest. */
  readonly programs = new Map<string, number>();
  /** Loads under way by program id. */
  readonly loads = new Map<string, Promise<number | UserError>>();
  eventCount = 0;
  softTimeouts = 0;
  /** Set once; `stderr` is bounded and printable. */
  ended: { end: GuestEndCause; code: number | null; signal: ExitSignal } | undefined;
  stderr = "";
  onEnd: () => void = () => {};
  /** Resolves when the process is gone and what it said is read. */
  readonly exited: Promise<unknown>;

  readonly #terms: LanguageProfile;
  readonly #process: GuestProcess;
  readonly #oversight: ResourceMonitor;
  readonly #socket: GuestSocket;
  readonly #exit = Promise.withResolvers<void>();
  readonly #channel = new GuestChannel(
    (memoryBytes) => this.#socket.send(memoryBytes),
    (end) => this.kill(end),
  );
  #lastProgram = 0;
  #retiring = false;
  #pausedAt: number | undefined;
  #killedFor: GuestEndCause | undefined;

  constructor(command: readonly string[], language: GuestLanguage, terms: LanguageProfile) {
    this.#terms = terms;
    const onExit = (code: number | null, signal: ExitSignal) => this.#exited(code, signal);
    const launched = launchGuest(command, language, terms, onExit);
    this.#process = launched.process;
    this.#socket = new GuestSocket(launched.fd, {
      received: (chunk) => this.#received(chunk),
      ended: () => this.kill("crash"),
    });
    this.#oversight = new ResourceMonitor(this.pid, terms);
    this.exited = Promise.all([this.#exit.promise, this.#readErrors()]);
  }

  /** Whether the guest is near its memory limit, as far as was seen. */
  get isNearMemoryLimit(): boolean {
    return this.#oversight.isNearMemoryLimit;
  }

  /** Memory that the guest's end would give back, at the last look. */
  get bytes(): number {
    return this.#oversight.anonymousBytes;
  }

  /** Whether the guest computes, or wants to. */
  get runnable(): boolean {
    return !this.dying && !this.#oversight.sleeps;
  }

  /** CPU time that the guest has used of late beyond its due share. */
  get cpuDebtMs(): number {
    return this.#oversight.cpuDebtMs;
  }

  /** Takes over the debt of an earlier guest of the same workspace. */
  setCpuDebt(debtMs: number): void {
    this.#oversight.setCpuDebt(debtMs);
  }

  get programsMax(): number {
    return this.#terms.programsMax;
  }

  /** A number for a program that is about to be loaded, used once. */
  nextProgramNumber(): number {
    this.#lastProgram += 1;
    return this.#lastProgram;
  }

  get pid(): number {
    return this.#process.pid;
  }

  get busy(): boolean {
    return this.#channel.current !== undefined;
  }

  /** Whether the guest is killed, and perhaps not yet gone. */
  get dying(): boolean {
    return this.ended !== undefined || this.#killedFor !== undefined;
  }

  /** First question to a guest: it confines itself and says whether it serves. */
  async start(insecure: boolean): Promise<StartReport> {
    const allowance = {
      cpuMs: GUEST_START_MS_MAX,
      wallMs: GUEST_START_MS_MAX,
      patient: true,
      replyBytesMax: REPLY_BYTES_SMALL,
    };
    const started = await this.request({ kind: "start", insecure }, [], allowance, parseStartReply);
    this.#oversight.start();
    return started;
  }

  /**
   * Asks one question and reads its answer. Rejects with `GuestGone` when there is none or
   * `read` finds it odd (`FrameError`); the guest is dead then.
   */
  async request<T>(
    header: GuestRequest,
    body: readonly JsonTexts[],
    allowance: ExchangeLimits,
    read: (frame: GuestFrame) => T,
  ): Promise<T> {
    if (this.dying) throw new GuestEndedError(this.ended?.end ?? this.#killedFor!);
    const frame = await this.#channel.request(header, body, allowance);
    if (isStackOverflow(frame)) {
      this.kill("overflow");
      throw new GuestEndedError("overflow");
    }
    try {
      return read(frame);
    } catch (error) {
      if (!(error instanceof GuestFrameError)) throw error;
      this.kill("violation");
      throw new GuestEndedError("violation");
    }
  }

  /** SIGKILL. What waits for an answer is rejected at once. */
  kill(end: GuestEndCause): void {
    if (this.dying) return;
    this.#killedFor = end;
    this.#process.kill("SIGKILL");
    this.#socket.close();
    this.#channel.end(end);
  }

  /** Ends the guest once it has answered all questions. */
  retire(): void {
    if (this.busy) this.#retiring = true;
    else this.kill("retired");
  }

  /**
   * Kills the guest when it has gone over its memory, threads or time. `dueShare` is the part of a
   * processor that it may use without debt.
   */
  enforceLimits(graceMs: number, dueShare: number): void {
    const exchange = this.#channel.current;
    if (this.dying || (!exchange && !this.#oversight.isDue(performance.now()))) return;
    this.#countPause();
    const share = this.#pausedAt === undefined ? dueShare : 0;
    const end = this.#oversight.measure(exchange, graceMs, share);
    if (end) this.kill(end);
  }

  /** The server stood still for `ms`, most likely with its guests: that time is not their own. */
  extendDeadline(ms: number): void {
    if (this.#pausedAt === undefined) this.#channel.extendDeadline(ms);
  }

  /** Stops the guest where it is; the time until `resume` is not its own. */
  pause(): void {
    if (this.#pausedAt !== undefined || this.dying) return;
    this.#pausedAt = performance.now();
    this.#process.kill("SIGSTOP");
  }

  resume(): void {
    if (this.#pausedAt === undefined) return;
    this.#countPause();
    this.#pausedAt = undefined;
    this.#process.kill("SIGCONT");
  }

  #countPause(): void {
    if (this.#pausedAt === undefined) return;
    const now = performance.now();
    this.#channel.extendDeadline(now - this.#pausedAt);
    this.#pausedAt = now;
  }

  #received(chunk: Buffer): void {
    if (this.dying) return;
    try {
      this.#channel.receive(chunk);
      if (this.#retiring && !this.busy) this.kill("retired");
    } catch (error) {
      this.kill(error instanceof GuestFrameError ? "violation" : "crash");
    }
  }

  async #readErrors(): Promise<void> {
    const decoder = new TextDecoder();
    let bytes = 0;
    try {
      for await (const chunk of this.#process.stderr) {
        const room = Math.max(0, GUEST_STDERR_BYTES_MAX - bytes);
        bytes += chunk.length;
        if (bytes > GUEST_STDERR_FLOOD_BYTES) this.kill("stderr");
        const kept = chunk.subarray(0, room);
        this.stderr = printable(this.stderr + decoder.decode(kept, { stream: true }));
      }
    } catch {
      // The text only explains an end that is known from elsewhere.
    }
  }

  #exited(code: number | null, signal: ExitSignal): void {
    this.ended = { end: this.#killedFor ?? "crash", code, signal };
    this.#socket.close();
    this.#channel.end(this.ended.end);
    this.#exit.resolve();
    this.onEnd();
  }
}
