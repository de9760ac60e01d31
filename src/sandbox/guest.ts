import { setPriority } from "node:os";
import { GUEST_BURST_CPU_MS_MAX, GUEST_START_MS_MAX, GUEST_STDERR_BYTES_MAX } from "../limits.ts";
import { type Allowance, Dialogue, type GuestEnd, GuestGone } from "./dialogue.ts";
import { type Frame, FrameError, type Texts } from "./frames.ts";
import type { LanguageTerms } from "./languages.ts";
import { type GuestProcess, launch, type Signal } from "./launch.ts";
import { printable } from "./printable.ts";
import { usage } from "./proc.ts";
import type { GuestLanguage, UserError } from "./program.ts";
import type { Request } from "./protocol.ts";
import { readStarted, type Started } from "./replies.ts";

/** A third of the share that others get, so that honest long work on a busy machine still ends. */
const BURST_NICE = 5;
const REPLY_BYTES_SMALL = 4_096;

/** The host's end of one guest process: its life, and an eye on what it uses. */
export class Guest {
  readonly startedAt = performance.now();
  /** Program ids that are loaded, least recently used first, with their number in the guest. */
  readonly programs = new Map<string, number>();
  /** Loads under way by program id. */
  readonly loads = new Map<string, Promise<number | UserError>>();
  events = 0;
  softTimeouts = 0;
  /** Runs at a lower priority, since a batch took long. */
  burst = false;
  /** Memory of the idle guest, and at the last look. */
  idleBytes = 0;
  residentBytes = 0;
  /** Set once; `stderr` is bounded and printable. */
  ended: { end: GuestEnd; code: number | null; signal: Signal } | undefined;
  stderr = "";
  onEnd: () => void = () => {};

  readonly #terms: LanguageTerms;
  readonly #process: GuestProcess;
  readonly #dialogue = new Dialogue(
    (bytes) => this.#send(bytes),
    (end) => this.kill(end),
  );
  #lastProgram = 0;
  #retiring = false;
  #killedFor: GuestEnd | undefined;

  constructor(command: readonly string[], language: GuestLanguage, terms: LanguageTerms) {
    this.#terms = terms;
    this.#process = launch(command, language, terms, (code, signal) => this.#exited(code, signal));
    this.#read();
    this.#readErrors();
  }

  /** Near the end of its memory, as far as was seen. */
  get bloated(): boolean {
    return this.residentBytes > this.idleBytes + this.#terms.recycleBytes;
  }

  get programsMax(): number {
    return this.#terms.programsMax;
  }

  /** A number for a program that is about to be loaded, used once. */
  nextProgram(): number {
    this.#lastProgram += 1;
    return this.#lastProgram;
  }

  get pid(): number {
    return this.#process.pid;
  }

  get busy(): boolean {
    return this.#dialogue.current !== undefined;
  }

  /** Killed, perhaps not yet gone. */
  get dying(): boolean {
    return this.ended !== undefined || this.#killedFor !== undefined;
  }

  /** First question to a guest: it confines itself and says whether it serves. */
  async start(insecure: boolean): Promise<Started> {
    const allowance = {
      cpuMs: GUEST_START_MS_MAX,
      wallMs: GUEST_START_MS_MAX,
      replyBytesMax: REPLY_BYTES_SMALL,
    };
    const started = await this.ask({ kind: "start", insecure }, [], allowance, readStarted);
    this.idleBytes = usage(this.pid)?.residentBytes ?? 0;
    return started;
  }

  /**
   * Asks one question and reads its answer. Rejects with `GuestGone` when there is none or
   * `read` finds it odd (`FrameError`); the guest is dead then.
   */
  async ask<T>(
    header: Request,
    body: readonly Texts[],
    allowance: Allowance,
    read: (frame: Frame) => T,
  ): Promise<T> {
    if (this.dying) throw new GuestGone(this.ended?.end ?? this.#killedFor!);
    const frame = await this.#dialogue.ask(header, body, allowance);
    try {
      return read(frame);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.kill("violation");
      throw new GuestGone("violation");
    }
  }

  /** SIGKILL. What waits for an answer is rejected at once. */
  kill(end: GuestEnd): void {
    if (this.dying) return;
    this.#killedFor = end;
    this.#process.kill("SIGKILL");
    this.#dialogue.end(end);
  }

  /** Ends the guest when it has answered what it was asked. */
  retire(): void {
    if (this.busy) this.#retiring = true;
    else this.kill("retired");
  }

  /** Kills the guest when the exchange under way went over memory or time. */
  watch(graceMs: number): void {
    const exchange = this.#dialogue.current;
    if (!exchange || this.dying) return;
    const wallMs = (exchange.waitingSince ?? performance.now()) - exchange.startedAt;
    const used = usage(this.pid);
    if (used) this.residentBytes = used.residentBytes;
    if (used) exchange.cpuAtStartMs ??= used.cpuMs;
    // Without /proc the clock has to do.
    const cpuMs = used ? used.cpuMs - exchange.cpuAtStartMs! : wallMs;
    if (cpuMs > GUEST_BURST_CPU_MS_MAX) this.#yield();
    if (this.residentBytes > this.idleBytes + this.#terms.memoryBytesMax) this.kill("memory");
    else if (cpuMs > exchange.cpuMs + graceMs || wallMs > exchange.wallMs) this.kill("timeout");
  }

  /** Leaves the processor to other guests first; it is not taken back, so a new guest follows. */
  #yield(): void {
    if (this.burst) return;
    this.burst = true;
    try {
      setPriority(this.pid, BURST_NICE);
    } catch {
      // Gone, or not allowed: the deadline holds all the same.
    }
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#process.stdout) {
        if (this.dying) continue;
        this.#dialogue.received(chunk);
        if (this.#retiring && !this.busy) this.kill("retired");
      }
    } catch (error) {
      this.kill(error instanceof FrameError ? "violation" : "crash");
    }
  }

  #send(bytes: Buffer): void {
    const { stdin } = this.#process;
    // What rejects later is the pipe of a guest that dies; its exit says so anyway.
    Promise.resolve(stdin.write(bytes)).catch(() => {});
    Promise.resolve(stdin.flush()).catch(() => {});
  }

  async #readErrors(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const chunk of this.#process.stderr) {
        if (this.stderr.length >= GUEST_STDERR_BYTES_MAX) continue;
        this.stderr = printable(this.stderr + decoder.decode(chunk, { stream: true }));
      }
    } catch {
      // It only explains an end that is known otherwise.
    }
  }

  #exited(code: number | null, signal: Signal): void {
    this.ended = { end: this.#killedFor ?? "crash", code, signal };
    this.#dialogue.end(this.ended.end);
    this.onEnd();
  }
}
