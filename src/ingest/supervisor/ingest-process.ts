import type { Subprocess } from "bun";
import { messageOf, StartError } from "../../errors.ts";
import type { LogHealth } from "../../log/event-log.ts";
import type { Logger } from "../../observe/log.ts";
import { ingestEnvironment } from "../../settings/reader.ts";
import {
  INGEST_CLOSE_MS_MAX,
  INGEST_METRICS_MS_MAX,
  INGEST_PULSE_MS,
  INGEST_PULSES_LATE_MAX,
  INGEST_PULSES_SLOW_MAX,
} from "../limits.ts";
import type {
  ChangeableIngestSettings,
  IngestLogs,
  IngestMessage,
  IngestOutcomes,
  IngestSettings,
  ProcessMetrics,
  ReceivedCount,
  ServerMessage,
} from "../messages.ts";
import type { ProcessState } from "./ingest-health.ts";
import { RestartDelay } from "./restart-delay.ts";
import { StartLimit } from "./start-limit.ts";
import { hasProgressed, readMainThread, type ThreadState } from "./thread-state.ts";

/**
 * Number of pulses (regular messages that show a process is alive) missing in a row after which a
 * process that makes no progress counts as hung and is killed.
 */
export const INGEST_PULSES_MISSED_MAX = 15;
/** Health of a log to which no record has been written yet. */
const NOT_WRITTEN: LogHealth = { failing: 0, writable: 0, faults: [] };

export interface IngestProcessOptions {
  /** Command line that starts this executable as an ingest process. */
  command: readonly string[];
  settings: Omit<IngestSettings, "log">;
  /** Functions that give the process its log settings, and receive its reports about the log. */
  logs: IngestLogs;
  /** File descriptor of the listening socket. The socket stays open when the process dies. */
  socketFd: number;
  logger: Logger;
  onDeath(): void;
  /**
   * Called about every second. Both arguments count events since the last call: `outcomes` has the
   * numbers of stored and of refused events, `received` the number of stored events of each source.
   */
  onOutcomes(outcomes: IngestOutcomes, received: readonly ReceivedCount[]): void;
}

/** Starts an ingest process, supervises it from the server, and restarts it when it dies. */
export class IngestProcess {
  #settings: IngestProcessOptions["settings"];
  readonly #opened = Promise.withResolvers<void>();
  readonly #firstListening = Promise.withResolvers<void>();
  readonly #metricsRequests = new Map<number, (metrics: ProcessMetrics) => void>();
  #child: Subprocess | undefined;
  /** Whether `listen` was called. If so, a process that is restarted may accept events at once. */
  #mayListen = false;
  /** Whether the process has listened at least once. If not, it is not restarted when it dies. */
  #started = false;
  #listening = false;
  #log: LogHealth = NOT_WRITTEN;
  #closing = false;
  readonly #restartDelay = new RestartDelay();
  #failure: string | undefined;
  /**
   * Number of pulses that the process has missed since its last message. A timer of the server adds
   * 1 every `INGEST_PULSE_MS`, so that a long pause of the server adds only 1.
   */
  #missed = 0;
  /** State of the process's main thread when `#missed` became 1, to see any progress since then. */
  #stateAtFirstMiss: ThreadState | undefined;
  #watch: ReturnType<typeof setInterval> | undefined;
  #restart: ReturnType<typeof setTimeout> | undefined;
  readonly #startLimit = new StartLimit();
  #lastMetricsRequest = 0;

  constructor(private readonly parts: IngestProcessOptions) {
    this.#settings = parts.settings;
    // A caller waits for only one of the two promises and gets a failed start from it. The
    // rejection of the other one is ignored.
    this.#opened.promise.catch(() => {});
    this.#firstListening.promise.catch(() => {});
  }

  /**
   * Starts the process. Resolves when the process has opened its log. Rejects with `StartError`
   * when it cannot.
   */
  start(): Promise<void> {
    this.#spawn();
    return this.#opened.promise;
  }

  /** Allows the process to accept events. Resolves when it listens for the first time. */
  listen(): Promise<void> {
    this.#mayListen = true;
    this.#letListen();
    return this.#firstListening.promise;
  }

  /**
   * Changes settings of the running process, and of each process that is started in its place
   * later.
   */
  configure(settings: ChangeableIngestSettings): void {
    this.#settings = { ...this.#settings, ...settings };
    this.#send({ type: "configure", ...settings });
  }

  /** Makes the process ask its clients to close their connections. It still accepts connections. */
  drain(): void {
    this.#send({ type: "drain" });
  }

  state(): ProcessState {
    return { trouble: this.#trouble(), log: this.#log };
  }

  pid(): number | undefined {
    return this.#child?.pid;
  }

  /**
   * Returns the current metrics of the process. Returns an empty list when the process does not
   * listen, or does not respond within `INGEST_METRICS_MS_MAX`.
   */
  async metrics(): Promise<ProcessMetrics> {
    if (!this.#listening) return [];
    const id = this.#lastMetricsRequest++;
    const reply = new Promise<ProcessMetrics>((resolve) => this.#metricsRequests.set(id, resolve));
    this.#send({ type: "metrics", id });
    const late = Bun.sleep(INGEST_METRICS_MS_MAX).then(() => []);
    const metrics = await Promise.race([reply, late]);
    this.#metricsRequests.delete(id);
    return metrics;
  }

  /**
   * Asks the process to end, and kills it when it takes too long. Resolves when the process has
   * exited.
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

  #trouble(): string | undefined {
    const { index } = this.#settings;
    if (!this.#listening) return `Ingest process ${index} is not running and is started again`;
    if (this.#missed <= INGEST_PULSES_LATE_MAX) return undefined;
    const seconds = Math.round((this.#missed * INGEST_PULSE_MS) / 1_000);
    return `Ingest process ${index} has not responded for ${seconds} s`;
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
    this.#startLimit.begin(child);
    this.#watch = setInterval(() => this.#check(child), INGEST_PULSE_MS);
    child.exited.then(() => this.#died(child, performance.now() - startedAt));
    const log = this.parts.logs.settings(this.#settings.index);
    this.#send({ type: "serve", ...this.#settings, log });
  }

  /**
   * Starts the operating system process. Returns undefined when the system cannot, for example
   * because there are too many processes or the executable is missing.
   */
  #launch(): Subprocess | undefined {
    try {
      return Bun.spawn([...this.parts.command], {
        // The fourth descriptor, the listening socket, is `INGEST_SOCKET_FD` in the process.
        stdio: ["ignore", "ignore", "inherit", this.parts.socketFd],
        env: ingestEnvironment(),
        serialization: "json",
        ipc: (message: IngestMessage) => this.#receive(message),
      });
    } catch (error) {
      this.#failure = `Cannot start an ingest process: ${messageOf(error)}`;
      return undefined;
    }
  }

  /** Allows the process to accept events, and limits the time until it listens (`StartLimit`). */
  #letListen(): void {
    if (this.#child !== undefined) this.#startLimit.begin(this.#child);
    this.#send({ type: "listen" });
  }

  /**
   * Counts a missed pulse of the process. Kills the process after more than
   * `INGEST_PULSES_MISSED_MAX` missed pulses in a row; if it makes progress, only after more than
   * `INGEST_PULSES_SLOW_MAX`.
   */
  #check(child: Subprocess): void {
    if (!this.#listening) return;
    this.#missed++;
    const now = readMainThread(child.pid);
    if (this.#missed === 1) this.#stateAtFirstMiss = now;
    if (this.#missed <= INGEST_PULSES_MISSED_MAX) return;
    if (this.#missed <= INGEST_PULSES_SLOW_MAX && hasProgressed(this.#stateAtFirstMiss, now))
      return;
    this.parts.logger.error(
      { ingest: this.#settings.index, pid: child.pid },
      "ingest process hangs and is killed",
    );
    child.kill("SIGKILL");
  }

  #receive(message: IngestMessage): void {
    const { logs, settings } = this.parts;
    this.#missed = 0;
    switch (message.type) {
      case "opened":
        if (message.durable !== undefined) logs.opened?.(settings.index, message.durable);
        // The wait for the logs of the other processes has no limit.
        this.#startLimit.end();
        this.#opened.resolve();
        if (this.#mayListen) this.#letListen();
        break;
      case "listening":
        this.#startLimit.end();
        this.#started = true;
        this.#listening = true;
        this.#firstListening.resolve();
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
        this.#log = message.health;
        break;
      case "pulse":
        this.parts.onOutcomes(message.outcomes, message.received ?? []);
        break;
      case "metrics":
        this.#metricsRequests.get(message.id)?.(message.metrics);
    }
  }

  #died(child: Subprocess | undefined, livedMs: number): void {
    this.#startLimit.end();
    clearInterval(this.#watch);
    this.#child = undefined;
    this.#log = NOT_WRITTEN;
    const listened = this.#listening;
    this.#listening = false;
    if (this.#closing) return;
    const failure = this.#failure;
    this.#failure = undefined;
    // Only callers of the first start wait for these promises. Later they are settled already, and
    // the rejection has no effect.
    const error = new StartError(failure ?? "An ingest process ended before it listened");
    this.#opened.reject(error);
    this.#firstListening.reject(error);
    if (!this.#started) return;
    const delayMs = this.#restartDelay.after(livedMs);
    const { exitCode, signalCode, pid } = child ?? {};
    const ingest = this.#settings.index;
    const context = { ingest, pid, exitCode, signalCode, failure, listened, delayMs };
    this.parts.logger.error(context, "ingest process died and restarts");
    this.parts.onDeath();
    this.#restart = setTimeout(() => this.#spawn(), delayMs);
  }

  #send(message: ServerMessage): void {
    try {
      this.#child?.send(message);
    } catch {
      // The process has died at this moment. The promise `exited` reports that.
    }
  }
}
