import { assert, InvariantError } from "../../assert.ts";
import { GUEST_START_MS_MAX } from "../guest-limits.ts";
import type { GuestLanguage, GuestOwner } from "../program.ts";
import { type FrameText, type GuestFrame, GuestFrameError } from "../protocol/guest-frames.ts";
import type { HostRequest, LoadFailure } from "../protocol/guest-protocol.ts";
import { printable } from "../protocol/printable.ts";
import { isStackOverflow, parseStartReply, type StartReport } from "../protocol/reply-parser.ts";
import { type ExchangeLimits, GuestChannel } from "./guest-channel.ts";
import { type GuestEndCause, GuestEndedError } from "./guest-end.ts";
import { GuestSocket } from "./guest-socket.ts";
import type { LanguageProfile } from "./language-profiles.ts";
import { type ExitSignal, type GuestProcess, launchGuest } from "./launch-guest.ts";
import { ResourceMonitor } from "./resource-monitor.ts";

/** Maximum number of bytes kept of a guest process's standard error. The rest is dropped. */
const GUEST_STDERR_BYTES_MAX = 8_192;
/** Bytes of standard error above which a guest process is killed. Normally there are far fewer. */
const GUEST_STDERR_FLOOD_BYTES = 1 << 20;

const REPLY_BYTES_SMALL = 4_096;

/**
 * The host's (the server's) side of one guest, a process that runs user code. It starts and kills
 * the process, sends requests to it, and enforces its resource limits.
 */
export class Guest {
  readonly startedAt = performance.now();
  /**
   * Numbers of the programs (user code with libraries) that are loaded in the guest process, by
   * program id. The server assigns the numbers. The least recently used program comes first.
   */
  readonly programs = new Map<string, number>();
  /**
   * Programs that are being loaded, by program id. Each promise resolves with the program's number,
   * or with the error that keeps the program from loading.
   */
  readonly loads = new Map<string, Promise<number | LoadFailure>>();
  /** Numbers of programs that the guest process must unload when it loads the next program. */
  readonly unloadedPrograms: number[] = [];
  eventCount = 0;
  /**
   * The workspace (tenant) whose code runs in the guest process; undefined before any code has been
   * sent to it.
   */
  workspaceId: string | undefined;
  softTimeouts = 0;
  /** Whether the guest process will be killed when it has answered the requests in progress. */
  isRetiring = false;
  /** How the guest process ended; undefined while it lives. */
  ended: { end: GuestEndCause; code: number | null; signal: ExitSignal } | undefined;
  /** Beginning of the guest's standard error, without control characters. */
  stderr = "";
  /** Internal error of the server because of which it killed this guest; undefined if none. */
  hostFault: InvariantError | undefined;
  onEnd: () => void = () => {};
  /** Resolves when the process has ended and its standard error was read to the end. */
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
  #lastProgram = 0;
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

  /** Whether to replace the guest: its last measured memory growth exceeds `recycleBytes`. */
  get isNearMemoryLimit(): boolean {
    return this.#monitor.isNearMemoryLimit;
  }

  /** Memory in bytes that would be freed if the guest ended, as of the last measurement. */
  get memoryBytes(): number {
    return this.#monitor.anonymousBytes;
  }

  /** Whether the guest process lives and is not idle. Pausing it does not change the result. */
  get runnable(): boolean {
    return !this.dying && !this.#monitor.isIdle;
  }

  /** CPU debt: CPU time in ms that the guest process has used beyond its fair share. */
  get cpuDebtMs(): number {
    return this.#monitor.cpuDebtMs;
  }

  /** Sets the CPU debt. A new guest process gets the debt that its workspace's last guest had. */
  setCpuDebt(debtMs: number): void {
    this.#monitor.setCpuDebt(debtMs);
  }

  get programsMax(): number {
    return this.#profile.programsMax;
  }

  /** Returns a new number for a program that is about to be loaded. */
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

  /** Whether the guest process has ended, or was sent SIGKILL. */
  get dying(): boolean {
    return this.ended !== undefined || this.#killCause !== undefined;
  }

  /**
   * Reserves the guest process for a workspace. Throws `InvariantError` when the guest is reserved
   * for another workspace or runs another language.
   */
  assign({ workspaceId, language }: GuestOwner): void {
    this.workspaceId ??= workspaceId;
    assert(
      this.workspaceId === workspaceId && this.#language === language,
      "A guest serves one workspace and one language",
    );
  }

  /**
   * Makes the guest process restrict its own access to the system, and resolves with its report:
   * whether user code can run in it. With `insecure`, code can run even if the restriction is
   * incomplete.
   */
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
   * Sends a request, and resolves with the parsed reply. Rejects with `GuestEndedError` when the
   * guest process ends before it replies. When `parse` throws `GuestFrameError`, the guest is
   * killed, and the request is rejected with `GuestEndedError` too.
   */
  async request<T>(
    header: HostRequest,
    body: readonly FrameText[],
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

  /**
   * Kills the guest process with SIGKILL, and rejects its requests in progress with
   * `GuestEndedError` at once. If `fault` is given, the one that the guest is working on is
   * rejected with `fault`.
   */
  kill(cause: GuestEndCause, fault?: InvariantError): void {
    if (this.dying) return;
    this.#killCause = cause;
    this.hostFault = fault;
    this.#process.kill("SIGKILL");
    this.#socket.close();
    this.#channel.close(cause, fault);
  }

  /** Kills the guest process when it has answered the requests in progress. */
  retire(): void {
    this.isRetiring = true;
    if (!this.busy) this.kill("retired");
  }

  /**
   * Measures the guest process, and kills it if it exceeds a limit of memory, threads or time.
   * - `graceMs`: milliseconds that are added to the limits of time
   * - `fairShare`: fraction of a processor; CPU time beyond this fraction adds to `cpuDebtMs`,
   *   which is a reason to pause the guest, not to kill it
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

  /**
   * Extends the time limit of the current request by `ms` milliseconds, in which the server, and
   * probably the guest too, could not run. Does nothing while the guest is paused, because its time
   * limit does not run then.
   */
  extendDeadline(ms: number): void {
    if (this.#pausedAt === undefined) this.#channel.extendDeadline(ms);
  }

  /** Stops the process with SIGSTOP. Its time limit does not run until `resume` is called. */
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
      if (this.isRetiring && !this.busy) this.kill("retired");
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
      // Standard error that cannot be read is left out: the cause of the guest's end does not
      // depend on it.
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
