import type { Subprocess } from "bun";
import { backoffMs } from "../../concurrency/backoff.ts";
import { messageOf, StartError } from "../../errors.ts";
import type { Logger } from "../../observe/log.ts";
import { INGEST_CLOSE_MS_MAX, INGEST_PULSE_MS } from "../limits.ts";
import type {
  IngestLogs,
  IngestMessage,
  IngestSettings,
  ProcessMetrics,
  ServerMessage,
} from "../messages.ts";
import { hasProgressed, readMainThread, type ThreadState } from "./thread-state.ts";

/**
 * Time from a process's start until it listens; the process may wait for its log's lock meanwhile.
 */
export const INGEST_START_MS_MAX = 20_000;
/** Delay of the restart of an ingest process that died, doubled each time it dies young. */
const INGEST_RESTART_MS_MIN = 50;
/** The longest delay of the restart of an ingest process that died. */
const INGEST_RESTART_MS_MAX = 5_000;
/** An ingest process that lived this long is restarted with the shortest delay. */
const INGEST_STEADY_MS_MIN = 10_000;
/**
 * Pulses in a row that may be missing before `/ready` says that the ingest process is not ready.
 */
const INGEST_PULSES_LATE_MAX = 3;
/** Missing pulses after which an ingest process that uses no CPU counts as hung, and is killed. */
export const INGEST_PULSES_MISSED_MAX = 15;
/**
 * Missing pulses after which an ingest process is killed although it uses CPU, or waits for CPU or
 * disk.
 */
const INGEST_PULSES_SLOW_MAX = 120;
/** Time in which a process tells its metrics; a process that takes longer is left out. */
const INGEST_METRICS_MS_MAX = 1_000;

/** How often a process that gets on, slowly, is given `INGEST_START_MS_MAX` again. */
const INGEST_START_AGAIN_MAX = 5;

export interface IngestProcessOptions {
  /** argv that starts this executable as an ingest process. */
  command: readonly string[];
  settings: Omit<IngestSettings, "log">;
  /** Tells which log to open, and is told what the process has written. */
  logs: IngestLogs;
  /**
   * Descriptor of the socket that the process accepts from; the socket stays open when the process
   * dies.
   */
  socketFd: number;
  logger: Logger;
  onDeath(): void;
}

/** One ingest process as the server sees it: started, and started again whenever it dies. */
export class IngestProcess {
  readonly #parts: IngestProcessOptions;
  readonly #logger: Logger;
  readonly #opened = Promise.withResolvers<void>();
  readonly #first = Promise.withResolvers<void>();
  readonly #asked = new Map<number, (metrics: ProcessMetrics) => void>();
  #child: Subprocess | undefined;
  /**
   * Whether all logs are open, so that a process that is started again need not wait for others.
   */
  #mayListen = false;
  /** Whether the process has listened at least once; from then on it is kept alive. */
  #started = false;
  #listening = false;
  #healthy = true;
  #closing = false;
  /** Deaths in a row of processes that lived less than `INGEST_STEADY_MS_MIN`. */
  #youngDeaths = 0;
  #failure: string | undefined;
  /**
   * Pulses since the process was last heard. They are counted by a timer of the server, so a pause
   * of the server itself counts as one.
   */
  #missed = 0;
  /** What the process's main thread had done when its first pulse was missing. */
  #lastSeen: ThreadState | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;
  #restart: ReturnType<typeof setTimeout> | undefined;
  #stuck: ReturnType<typeof setTimeout> | undefined;
  #asks = 0;

  constructor(parts: IngestProcessOptions) {
    this.#parts = parts;
    this.#logger = parts.logger.child({ ingest: parts.settings.index });
    // A start that failed is reported by the promise that a caller waits for, which may be the
    // other one.
    this.#opened.promise.catch(() => {});
    this.#first.promise.catch(() => {});
  }

  /** Resolves when the process has opened its log; rejects with `StartError` when it cannot. */
  start(): Promise<void> {
    this.#spawn();
    return this.#opened.promise;
  }

  /** Lets the process take pixels; resolves when it listens for the first time. */
  listen(): Promise<void> {
    this.#mayListen = true;
    this.#send({ type: "listen" });
    return this.#first.promise;
  }

  healthy(): boolean {
    return this.#listening && this.#healthy && this.#missed <= INGEST_PULSES_LATE_MAX;
  }

  pid(): number | undefined {
    return this.#child?.pid;
  }

  /** The process's metrics now; none when it does not answer within `INGEST_METRICS_MS_MAX`. */
  async metrics(): Promise<ProcessMetrics> {
    if (!this.#listening) return [];
    const id = this.#asks++;
    const answer = new Promise<ProcessMetrics>((resolve) => this.#asked.set(id, resolve));
    this.#send({ type: "metrics", id });
    const late = Bun.sleep(INGEST_METRICS_MS_MAX).then(() => []);
    const metrics = await Promise.race([answer, late]);
    this.#asked.delete(id);
    return metrics;
  }

  /**
   * Asks the process to end, and resolves when it has exited; a process that takes too long is
   * killed.
   */
  async close(): Promise<void> {
    this.#closing = true;
    clearTimeout(this.#restart);
    const child = this.#child;
    if (child === undefined) return;
    this.#send({ type: "close" });
    const kill = setTimeout(() => child.kill("SIGKILL"), INGEST_CLOSE_MS_MAX);
    await child.exited;
    clearTimeout(kill);
  }

  #spawn(): void {
    const startedAt = performance.now();
    const child = this.#launch();
    if (child === undefined) {
      this.#died(undefined, 0);
      return;
    }
    this.#child = child;
    this.#missed = 0;
    this.#awaitStart(child);
    this.#watch = setInterval(() => this.#check(child), INGEST_PULSE_MS);
    child.exited.then(() => this.#died(child, performance.now() - startedAt));
    const { settings, logs } = this.#parts;
    this.#send({ type: "serve", ...settings, log: logs.settings(settings.index) });
  }

  /**
   * Undefined when the system starts no process: there are too many, or the executable is gone for
   * the moment.
   */
  #launch(): Subprocess | undefined {
    try {
      return Bun.spawn([...this.#parts.command], {
        // The socket is the last of these, and has the number `INGEST_SOCKET_FD` in the process.
        stdio: ["ignore", "ignore", "inherit", this.#parts.socketFd],
        serialization: "json",
        ipc: (message: IngestMessage) => this.#receive(message),
      });
    } catch (error) {
      this.#failure = `Cannot start an ingest process: ${messageOf(error)}`;
      return undefined;
    }
  }

  /**
   * Kills a process that does not come to listen; one that gets on, slowly, is given the time
   * again.
   */
  #awaitStart(child: Subprocess, again = INGEST_START_AGAIN_MAX): void {
    const before = readMainThread(child.pid);
    this.#stuck = setTimeout(() => {
      if (again > 0 && hasProgressed(before, readMainThread(child.pid)))
        this.#awaitStart(child, again - 1);
      else child.kill("SIGKILL");
    }, INGEST_START_MS_MAX);
  }

  /** Kills a process that hangs; one that gets on, slowly, is only not ready. */
  #check(child: Subprocess): void {
    if (!this.#listening) return;
    this.#missed++;
    const now = readMainThread(child.pid);
    if (this.#missed === 1) this.#lastSeen = now;
    if (this.#missed <= INGEST_PULSES_MISSED_MAX) return;
    if (this.#missed <= INGEST_PULSES_SLOW_MAX && hasProgressed(this.#lastSeen, now)) return;
    this.#logger.error({ pid: child.pid }, "An ingest process hangs and is killed");
    child.kill("SIGKILL");
  }

  #receive(message: IngestMessage): void {
    const { logs, settings } = this.#parts;
    this.#missed = 0;
    switch (message.type) {
      case "opened":
        if (message.durable !== undefined) logs.opened?.(settings.index, message.durable);
        this.#opened.resolve();
        if (this.#mayListen) this.#send({ type: "listen" });
        break;
      case "listening":
        clearTimeout(this.#stuck);
        this.#started = true;
        this.#listening = true;
        this.#healthy = true;
        this.#first.resolve();
        break;
      case "failed":
        this.#failure = message.message;
        break;
      case "durable":
        logs.written?.(settings.index, message.sequence, message.sources);
        break;
      case "missing":
        logs.missing?.(settings.index, message);
        break;
      case "health":
        this.#healthy = message.healthy;
        break;
      case "metrics":
        this.#asked.get(message.id)?.(message.metrics);
    }
  }

  #died(child: Subprocess | undefined, livedMs: number): void {
    clearTimeout(this.#stuck);
    clearInterval(this.#watch);
    this.#child = undefined;
    const listened = this.#listening;
    this.#listening = false;
    if (this.#closing) return;
    const failure = this.#failure;
    this.#failure = undefined;
    // Only the first start has a caller to tell; later these promises are settled already.
    const error = new StartError(failure ?? "An ingest process ended before it listened");
    this.#opened.reject(error);
    this.#first.reject(error);
    if (!this.#started) return;
    this.#youngDeaths = livedMs < INGEST_STEADY_MS_MIN ? this.#youngDeaths + 1 : 0;
    const delayMs = backoffMs(this.#youngDeaths, INGEST_RESTART_MS_MIN, INGEST_RESTART_MS_MAX);
    const { exitCode, signalCode, pid } = child ?? {};
    const context = { pid, exitCode, signalCode, failure, listened, delayMs };
    this.#logger.error(context, "An ingest process died and is started again");
    this.#parts.onDeath();
    this.#restart = setTimeout(() => this.#spawn(), delayMs);
  }

  #send(message: ServerMessage): void {
    try {
      this.#child?.send(message);
    } catch {
      // The process has just died, and its death is about to be reported.
    }
  }
}
