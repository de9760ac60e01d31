import { constants, setPriority } from "node:os";
import { join, resolve } from "node:path";
import { Counter, Gauge } from "prom-client";
import { messageOf, StartError } from "../errors.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { selfCommand } from "../self-command.ts";
import type { Config } from "../settings/keys.ts";
import { ingestEnvironment } from "../settings/reader.ts";
import {
  type BackupFile,
  backupName,
  listBackups,
  prepareBackupDirectory,
  pruneBackups,
  removeLeftovers,
} from "./backup-files.ts";

/** Longest time in milliseconds from a backup that failed to the next attempt. */
const RETRY_MS_MAX = 600_000;
/** Longest time in milliseconds that a timer waits: more would run at once. */
const TIMER_MS_MAX = 3_600_000;
/** Number of intervals after which a missing backup is a warning. */
const INTERVALS_LATE = 2;
/** Last bytes of the error output of a backup that go into the log. */
const ERROR_CHARS_MAX = 2_000;

/** Backups that the server makes by itself. */
export interface ScheduledBackups {
  /** Sentences about backups that are missing, for `/ready`. */
  warnings(): string[];
  /** Ends the backup under way, and makes no more. */
  stop(): Promise<void>;
}

/**
 * Starts to make backups of the data directory, by processes of their own with low priority. The
 * times of the files decide when the next one is due, so that a restart makes none too many.
 * Returns undefined when the settings ask for none. Throws a `StartError` for settings that do not
 * fit.
 */
export function startBackups(
  config: Config,
  { logger, metrics }: { logger: Logger; metrics: Metrics },
): ScheduledBackups | undefined {
  if (config["backup.every"] === 0) return undefined;
  const directory = config["backup.directory"];
  if (directory === undefined) {
    throw new StartError("Expected the setting backup.directory beside backup.every");
  }
  if (config["cluster.kafka"].length > 0) {
    throw new StartError("Expected no backup.every on a node: the topics have the cluster's data");
  }
  prepareBackupDirectory(directory);
  return new Backups(config, resolve(directory), logger, metrics);
}

class Backups implements ScheduledBackups {
  readonly #startedAt = Date.now();
  readonly #everyMs: number;
  readonly #failed: Counter;
  #newest: BackupFile | undefined;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #child: Bun.Subprocess | undefined;
  #running: Promise<void> = Promise.resolve();
  #isStopping = false;

  constructor(
    readonly config: Config,
    readonly directory: string,
    readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.#everyMs = config["backup.every"] * 1_000;
    this.#newest = listBackups(directory).at(-1);
    this.#failed = new Counter({
      name: "pixelmill_backups_failed_total",
      help: "Backups that the server tried by itself, and that failed",
      registers: [metrics],
    });
    const backups = this;
    new Gauge({
      name: "pixelmill_backup_age_seconds",
      help: "Time since the newest backup of `backup.directory` began, or since the start of the server when there is none; absent without `backup.every`",
      registers: [metrics],
      collect() {
        this.set(backups.#ageMs() / 1_000);
      },
    });
    new Gauge({
      name: "pixelmill_backup_bytes",
      help: "Size of the newest backup of `backup.directory`; absent without `backup.every`",
      registers: [metrics],
      collect() {
        this.set(backups.#newest?.bytes ?? 0);
      },
    });
    this.#wait((this.#newest?.at ?? 0) + this.#everyMs);
  }

  warnings(): string[] {
    if (this.#ageMs() < INTERVALS_LATE * this.#everyMs) return [];
    const hours = Math.floor(this.#ageMs() / 360_000) / 10;
    return [`No backup for ${hours} h: the log says why they fail`];
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#child?.kill();
    await this.#running;
  }

  #ageMs(): number {
    return Math.max(0, Date.now() - (this.#newest?.at ?? this.#startedAt));
  }

  /** Waits until a time, and then makes a backup. */
  #wait(until: number): void {
    if (this.#isStopping) return;
    const ms = Math.min(TIMER_MS_MAX, Math.max(0, until - Date.now()));
    this.#timer = setTimeout(() => {
      if (Date.now() < until) this.#wait(until);
      else this.#running = this.#run();
    }, ms);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const at = Date.now();
    try {
      await this.#backUp(join(this.directory, backupName(at)));
      this.#failures = 0;
      pruneBackups(this.directory, this.config["backup.keep"]);
      this.#newest = listBackups(this.directory).at(-1);
      const { path, bytes } = this.#newest ?? {};
      this.logger.info({ path, bytes, ms: Date.now() - at }, "backup made");
      this.#wait(at + this.#everyMs);
    } catch (error) {
      if (this.#isStopping) return;
      this.#failed.inc();
      this.#failures++;
      this.logger.error({ reason: messageOf(error) }, "backup failed");
      const retryMs = Math.min(this.#everyMs, RETRY_MS_MAX, 1_000 * 2 ** this.#failures);
      this.#wait(Date.now() + retryMs);
    }
  }

  /** Runs `pixelmill backup`, which also reads the whole file again. */
  async #backUp(path: string): Promise<void> {
    const data = resolve(this.config.data);
    const child = Bun.spawn(
      [...selfCommand, "backup", path, "--data", data, "--config", "/dev/null"],
      { cwd: "/", env: ingestEnvironment(), stdin: "ignore", stdout: "ignore", stderr: "pipe" },
    );
    this.#child = child;
    try {
      setPriority(child.pid, constants.priority.PRIORITY_LOW);
    } catch {
      // The process has ended already.
    }
    try {
      const errors = await new Response(child.stderr).text();
      if ((await child.exited) !== 0) {
        throw new Error(errors.trim().slice(-ERROR_CHARS_MAX) || "the process was killed");
      }
    } finally {
      this.#child = undefined;
      removeLeftovers(this.directory);
    }
  }
}
