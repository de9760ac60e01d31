import { setPriority } from "node:os";
import { GUEST_BURST_CPU_MS_MAX, GUEST_START_MS_MAX, GUEST_STDERR_BYTES_MAX } from "../limits.ts";
import type { Bridge } from "./bridge.ts";
import {
  decodeFrame,
  type Frame,
  FrameError,
  FrameReader,
  FrameWriter,
  type Texts,
} from "./frames.ts";
import type { LanguageTerms } from "./languages.ts";
import { type GuestProcess, launch, type Signal } from "./launch.ts";
import { printable } from "./printable.ts";
import { usage } from "./proc.ts";
import type { GuestLanguage, UserError } from "./program.ts";
import type { Answers, Request } from "./protocol.ts";
import { readStarted, type Started } from "./replies.ts";

/** Why a guest is no more. */
export type GuestEnd =
  | "timeout" // over its CPU or wall time
  | "memory" // over its memory
  | "crash" // ended by itself
  | "violation" // answered oddly
  | "retired"; // ended by the host, for no fault of its code

/** The guest died before it answered. */
export class GuestGone extends Error {
  override readonly name = "GuestGone";

  constructor(readonly end: GuestEnd) {
    super(`Guest is gone: ${end}`);
  }
}

export interface Allowance {
  cpuMs: number;
  wallMs: number;
  replyBytesMax: number;
  /** What the code may reach of the network meanwhile; nothing when absent. */
  bridge?: Bridge;
}

interface Exchange extends Allowance {
  startedAt: number;
  /** CPU time of the guest when the watch first saw the exchange. */
  cpuAtStartMs?: number;
  /** The guest sleeps until the network answers. */
  waitingSince?: number | undefined;
  resolve(frame: Frame): void;
  reject(error: GuestGone): void;
}

function isWait({ header }: Frame): boolean {
  return typeof header === "object" && header !== null && Reflect.get(header, "kind") === "wait";
}

/** A third of the share that others get, so that honest long work on a busy machine still ends. */
const BURST_NICE = 5;
const REPLY_BYTES_SMALL = 4_096;

/**
 * The host's end of one guest process, and an eye on what it uses. A guest answers questions in
 * their order; the next one may be on its way meanwhile, so that neither end waits for the other.
 */
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
  readonly #reader = new FrameReader();
  readonly #writer = new FrameWriter();
  #lastProgram = 0;
  /** The first one is being answered, the others wait in the pipe. */
  readonly #exchanges: Exchange[] = [];
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
    return this.#exchanges.length > 0;
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
    const frame = await this.#exchangeFrames(header, body, allowance);
    try {
      return read(frame);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.kill("violation");
      throw new GuestGone("violation");
    }
  }

  #exchangeFrames(header: Request, body: readonly Texts[], allowance: Allowance): Promise<Frame> {
    return new Promise((resolve, reject) => {
      if (this.ended || this.#killedFor) {
        reject(new GuestGone(this.ended?.end ?? this.#killedFor!));
        return;
      }
      this.#exchanges.push({ ...allowance, startedAt: performance.now(), resolve, reject });
      this.#send(header, body);
    });
  }

  /** SIGKILL. What waits for an answer is rejected at once. */
  kill(end: GuestEnd): void {
    if (this.ended || this.#killedFor) return;
    this.#killedFor = end;
    this.#process.kill("SIGKILL");
    this.#rejectAll(end);
  }

  /** Ends the guest when it has answered what it was asked. */
  retire(): void {
    if (this.busy) this.#retiring = true;
    else this.kill("retired");
  }

  /** Kills the guest when the exchange under way went over memory or time. */
  watch(graceMs: number): void {
    const [exchange] = this.#exchanges;
    if (!exchange || this.#killedFor) return;
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

  /** Only the exchange under way has to do with the end. */
  #rejectAll(end: GuestEnd): void {
    const [first, ...others] = this.#exchanges.splice(0);
    first?.reject(new GuestGone(end));
    for (const exchange of others) exchange.reject(new GuestGone("retired"));
  }

  async #read(): Promise<void> {
    try {
      for await (const chunk of this.#process.stdout) this.#received(chunk);
    } catch (error) {
      this.kill(error instanceof FrameError ? "violation" : "crash");
    }
  }

  #received(chunk: Uint8Array): void {
    if (this.#killedFor) return;
    if (!this.#listening) throw new FrameError("Frame that nobody asked for");
    this.#reader.push(chunk);
    const answers: [exchange: Exchange, frame: Frame][] = [];
    try {
      this.#readFrames(answers);
    } catch (error) {
      // One that breaks the rules is not believed what it said before.
      this.#exchanges.unshift(...answers.map(([exchange]) => exchange));
      throw error;
    }
    for (const [exchange, frame] of answers) exchange.resolve(frame);
    if (this.#retiring && !this.busy) this.kill("retired");
  }

  #readFrames(answers: [exchange: Exchange, frame: Frame][]): void {
    while (this.#listening) {
      const exchange = this.#exchanges[0]!;
      const bytes = this.#reader.next(exchange.replyBytesMax);
      if (!bytes) return;
      const frame = decodeFrame(bytes);
      if (isWait(frame)) this.#wait(exchange, frame.body);
      else {
        answers.push([exchange, frame]);
        this.#exchanges.shift();
        if (this.#exchanges[0]) this.#exchanges[0].startedAt = performance.now();
      }
    }
    if (this.#reader.buffered > 0) throw new FrameError("Bytes after the frame");
  }

  /** Whether the guest has anything to say now. */
  get #listening(): boolean {
    const [exchange] = this.#exchanges;
    return exchange !== undefined && exchange.waitingSince === undefined;
  }

  /** Time that the guest sleeps is not its own. */
  async #wait(exchange: Exchange, requests: Buffer): Promise<void> {
    const { bridge } = exchange;
    try {
      if (!bridge) throw new FrameError("May not wait");
      exchange.waitingSince = performance.now();
      const answers = await bridge.exchange(requests);
      if (this.#exchanges[0] !== exchange) return;
      exchange.startedAt += performance.now() - exchange.waitingSince;
      exchange.waitingSince = undefined;
      this.#send({ kind: "answers" }, [answers]);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.kill("violation");
    }
  }

  #send(header: Request | Answers, body: readonly Texts[]): void {
    const { stdin } = this.#process;
    stdin.write(this.#writer.write(header, body));
    // The pipe of a guest that just died rejects; its exit says so anyway.
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
    this.#rejectAll(this.ended.end);
    this.onEnd();
  }
}
