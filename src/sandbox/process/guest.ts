import { assert, InvariantError } from "../../assert.ts";
import { GUEST_START_MS_MAX } from "../guest-limits.ts";
import type { GuestLanguage, UserError } from "../program.ts";
import { type GuestFrame, GuestFrameError, type JsonTexts } from "../protocol/guest-frames.ts";
import type { HostRequest } from "../protocol/guest-protocol.ts";
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

/** Gives work its guest: the same one until it dies, then a new one. */
export interface GuestSource {
  guest(): Promise<Guest> | Guest;
}

/** The host's end of one guest process: its life, its requests and its resource limits. */
export class Guest {
  readonly startedAt = performance.now();
  /** Numbers of the loaded programs in the guest by program id, least recently used first. */
  readonly programs = new Map<string, number>();
  /** Loads under way by program id. */
  readonly loads = new Map<string, Promise<number | UserError>>();
  eventCount = 0;
  softTimeouts = 0;
  /** Set once the process is gone. */
  ended: { end: GuestEndCause; code: number | null; signal: ExitSignal } | undefined;
  /** Start of the guest's standard error, without control characters. */
  stderr = "";
  /** The fault of the host for which it had to end the guest. */
  hostFault: InvariantError | undefined;
  onEnd: () => void = () => {};
  /** Resolves when the process is gone and its standard error is read. */
  readonly exited: Promise<unknown>;

  readonly #language: GuestLanguage;
  readonly #profile: LanguageProfile;
  readonly #process: GuestProcess;
  readonly #monitor: ResourceMonitor;
  readonly #socket: GuestSocket;
  readonly #exit = Promise.withResolvers<void>();
  readonly #channel = new GuestChannel(
    (bytes) => this.#socket.send(bytes),
    (cause, fault) => this.kill(cause, fault),
  );
  /** The workspace whose code the guest has seen. */
  #workspaceId: string | undefined;
  #lastProgram = 0;
  #isRetiring = false;
  #pausedAt: number | undefined;
  #killCause: GuestEndCause | undefined;

  constructor(command: readonly string[], language: GuestLanguage, profile: LanguageProfile) {
    this.#language = language;
    this.#profile = profile;
    const onExit = (code: number | null, signal: ExitSignal) => this.#handleExit(code, signal);
    const launched = launchGuest(command, language, profile, onExit);
    this.#process = launched.process;
    this.#socket = new GuestSocket(launched.fd, {
      onChunk: (chunk) => this.#receive(chunk),
      onEnd: () => this.kill("crash"),
    });
    this.#monitor = new ResourceMonitor(this.pid, profile);
    this.exited = Promise.all([this.#exit.promise, this.#readStderr()]);
  }

  /** Whether the guest was near its memory limit at the last measurement. */
  get isNearMemoryLimit(): boolean {
    return this.#monitor.isNearMemoryLimit;
  }

  /** Memory in bytes that the guest's end would give back, at the last measurement. */
  get memoryBytes(): number {
    return this.#monitor.anonymousBytes;
  }

  /** Whether the guest computes, or wants to. */
  get runnable(): boolean {
    return !this.dying && !this.#monitor.isIdle;
  }

  /** Recent CPU time of the guest beyond its fair share. */
  get cpuDebtMs(): number {
    return this.#monitor.cpuDebtMs;
  }

  /** Takes over the debt of an earlier guest of the same workspace. */
  setCpuDebt(debtMs: number): void {
    this.#monitor.setCpuDebt(debtMs);
  }

  get programsMax(): number {
    return this.#profile.programsMax;
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
    return this.ended !== undefined || this.#killCause !== undefined;
  }

  /** Whether the guest ends once it has answered the requests under way. */
  get isRetiring(): boolean {
    return this.#isRetiring;
  }

  /** Reserves the guest for the workspace and language of code that it is about to see. */
  assign(workspaceId: string, language: GuestLanguage): void {
    this.#workspaceId ??= workspaceId;
    assert(
      this.#workspaceId === workspaceId && this.#language === language,
      "A guest serves one workspace and one language",
    );
  }

  /** First request to a guest: it confines itself and says whether it serves. */
  async start(insecure: boolean): Promise<StartReport> {
    const limits: ExchangeLimits = {
      cpuMs: GUEST_START_MS_MAX,
      wallMs: GUEST_START_MS_MAX,
      restartsClockOnCpu: true,
      replyBytesMax: REPLY_BYTES_SMALL,
    };
    const report = await this.request({ kind: "start", insecure }, [], limits, parseStartReply);
    this.#monitor.start();
    return report;
  }

  /**
   * Sends a request and parses its reply. Rejects with `GuestEndedError` when there is none or
   * `parse` refuses it (`GuestFrameError`); the guest is dead then.
   */
  async request<T>(
    header: HostRequest,
    body: readonly JsonTexts[],
    limits: ExchangeLimits,
    parse: (frame: GuestFrame) => T,
  ): Promise<T> {
    if (this.dying) throw new GuestEndedError(this.ended?.end ?? this.#killCause!);
    const frame = await this.#channel.request(header, body, limits);
    if (isStackOverflow(frame)) {
      this.kill("overflow");
      throw new GuestEndedError("overflow");
    }
    try {
      return parse(frame);
    } catch (error) {
      if (!(error instanceof GuestFrameError)) throw error;
      this.kill("violation");
      throw new GuestEndedError("violation");
    }
  }

  /** Sends SIGKILL and rejects the requests under way at once; the first one with `fault`, if any. */
  kill(cause: GuestEndCause, fault?: InvariantError): void {
    if (this.dying) return;
    this.#killCause = cause;
    this.hostFault = fault;
    this.#process.kill("SIGKILL");
    this.#socket.close();
    this.#channel.close(cause, fault);
  }

  /** Ends the guest once it has answered the requests under way. */
  retire(): void {
    this.#isRetiring = true;
    if (!this.busy) this.kill("retired");
  }

  /**
   * Kills the guest when it is over its memory, threads or time. `fairShare` is the part of a
   * processor that it may use without debt.
   */
  enforceLimits(graceMs: number, fairShare: number): void {
    const exchange = this.#channel.current;
    if (this.dying || (!exchange && !this.#monitor.isDue(performance.now()))) return;
    this.#leaveOutPause();
    const share = this.#pausedAt === undefined ? fairShare : 0;
    try {
      const cause = this.#monitor.measure(exchange, graceMs, share);
      if (cause) this.kill(cause);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      this.kill("retired", error);
    }
  }

  /** Leaves `ms` out of the guest's time, since the server stood still, most likely with it. */
  extendDeadline(ms: number): void {
    if (this.#pausedAt === undefined) this.#channel.extendDeadline(ms);
  }

  /** Stops the guest where it is; the time until `resume` does not count as its own. */
  pause(): void {
    if (this.#pausedAt !== undefined || this.dying) return;
    this.#pausedAt = performance.now();
    this.#process.kill("SIGSTOP");
  }

  resume(): void {
    if (this.#pausedAt === undefined) return;
    this.#leaveOutPause();
    this.#pausedAt = undefined;
    this.#process.kill("SIGCONT");
  }

  #leaveOutPause(): void {
    if (this.#pausedAt === undefined) return;
    const now = performance.now();
    this.#channel.extendDeadline(now - this.#pausedAt);
    this.#pausedAt = now;
  }

  #receive(chunk: Buffer): void {
    if (this.dying) return;
    try {
      this.#channel.receive(chunk);
      if (this.#isRetiring && !this.busy) this.kill("retired");
    } catch (error) {
      if (error instanceof InvariantError) this.kill("retired", error);
      else this.kill(error instanceof GuestFrameError ? "violation" : "crash");
    }
  }

  async #readStderr(): Promise<void> {
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
      // The text only explains an end whose cause is known without it.
    }
  }

  #handleExit(code: number | null, signal: ExitSignal): void {
    this.ended = { end: this.#killCause ?? "crash", code, signal };
    this.#socket.close();
    this.#channel.close(this.ended.end);
    this.#exit.resolve();
    this.onEnd();
  }
}
