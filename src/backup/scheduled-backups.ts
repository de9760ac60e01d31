import { constants, setPriority } from "node:os";
import { resolve } from "node:path";
import { Counter, Gauge } from "prom-client";
import { messageOf } from "../errors.ts";
import { ageOf } from "../observe/ages.ts";
import type { Logger } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { selfCommand } from "../self-command.ts";
import type { Config } from "../settings/keys.ts";
import { ingestEnvironment } from "../settings/reader.ts";
import type { BackupFile } from "./backup-name.ts";
import { type BackupTarget, backupTarget, expectBackupSettings } from "./backup-target.ts";

/** Maximum milliseconds between a failed backup and the next attempt. */
const RETRY_MS_MAX = 600_000;
/**
 * Maximum milliseconds of one timer. A longer wait uses several timers, because a timer of more
 * than 24 days fires at once.
 */
const TIMER_MS_MAX = 3_600_000;
/** Number of intervals (`backup.every`) without a backup after which `/ready` warns. */
const INTERVALS_LATE = 2;
/**
 * Maximum number of characters of a failed backup's error output that are logged. If the output is
 * longer, only its end is logged.
 */
const ERROR_CHARS_MAX = 2_000;

/**
 * Starts the regular backups of the data directory, which a separate process makes. A restart
 * causes no extra backup. Returns undefined if the settings demand no regular backups. Throws
 * `StartError` for invalid settings.
 */
export function startBackups(
  config: Config,
  { logger, metrics }: { logger: Logger; metrics: Metrics },
): ScheduledBackups | undefined {
  if (config["backup.every"] === 0) return undefined;
  expectBackupSettings(config);
  return new ScheduledBackups(config, backupTarget(config, logger), logger, metrics);
}

/** Makes a backup at each interval (setting `backup.every`), and deletes old ones. */
class ScheduledBackups {
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
    readonly target: BackupTarget,
    readonly logger: Logger,
    metrics: Metrics,
  ) {
    this.#everyMs = config["backup.every"] * 1_000;
    this.#failed = new Counter({
      name: "pixelmill_backups_failed_total",
      help: "Backups that the server tried by itself, and that failed",
      registers: [metrics],
    });
    const backups = this;
    new Gauge({
      name: "pixelmill_backup_age_seconds",
      help: "Time since the newest backup of this server began, or since the start of the server while none is known; absent without `backup.every`",
      registers: [metrics],
      collect() {
        this.set(backups.#ageMs() / 1_000);
      },
    });
    new Gauge({
      name: "pixelmill_backup_bytes",
      help: "Size of the newest backup of this server; absent without `backup.every`",
      registers: [metrics],
      collect() {
        this.set(backups.#newest?.bytes ?? 0);
      },
    });
    new Gauge({
      name: "pixelmill_backup_interval_seconds",
      help: "The setting `backup.every`; absent when it is 0",
      registers: [metrics],
    }).set(config["backup.every"]);
    this.#wait(0);
  }

  /** Returns a warning for `/ready` if the newest backup is too old, otherwise an empty list. */
  warnings(): string[] {
    if (this.#ageMs() < INTERVALS_LATE * this.#everyMs) return [];
    const hours = Math.floor(this.#ageMs() / 360_000) / 10;
    const cause = this.#failures > 0 ? "the log says why they fail" : "the next one is due or runs";
    return [`No backup for ${hours} h: ${cause}`];
  }

  /** Makes no more backups. Kills the process of a current backup, and waits until it has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    this.#child?.kill();
    this.target.close();
    await this.#running;
  }

  #ageMs(): number {
    return ageOf(this.#newest?.at ?? this.#startedAt);
  }

  /**
   * Schedules a backup for the time `until` (milliseconds since the epoch). If the clock is then
   * behind the time of the newest backup, lists the backups again to find when the next is due.
   */
  #wait(until: number): void {
    if (this.#isStopping) return;
    const ms = Math.min(TIMER_MS_MAX, Math.max(0, until - Date.now()));
    this.#timer = setTimeout(() => {
      // The clock was wrong when a backup with a time in the future was made.
      if (this.#newest !== undefined && this.#newest.at > Date.now()) this.#newest = undefined;
      if (this.#newest !== undefined && Date.now() < until) this.#wait(until);
      else this.#running = this.#run();
    }, ms);
    this.#timer.unref();
  }

  /**
   * Lists the backups in the order of deletion: first backups with a time in the future, which come
   * from a wrong clock, then the others, oldest first. `newest` is the newest of the others.
   */
  async #list(): Promise<{ backups: BackupFile[]; newest: BackupFile | undefined }> {
    const now = Date.now();
    const { true: future = [], false: past = [] } = Object.groupBy(
      await this.target.list(),
      ({ at }) => `${at > now}`,
    );
    return { backups: [...future, ...past], newest: past.at(-1) };
  }

  async #run(): Promise<void> {
    const at = Date.now();
    try {
      if (this.#newest === undefined) {
        this.#newest = (await this.#list()).newest;
        const due = (this.#newest?.at ?? 0) + this.#everyMs;
        if (due > at) return this.#wait(due);
      }
      const place = this.target.placeOf(at);
      await this.#backUp(place);
      this.#failures = 0;
      this.#newest = { path: place, at, bytes: this.#newest?.bytes ?? 0 };
      await this.#prune();
      const { path, bytes } = this.#newest ?? {};
      this.logger.info({ path, bytes, ms: ageOf(at) }, "backup made");
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

  /**
   * Deletes old backups, so that the newest `backup.keep` remain. If that fails, only logs a
   * warning.
   */
  async #prune(): Promise<void> {
    try {
      const { backups, newest } = await this.#list();
      this.#newest = newest;
      for (const backup of backups.slice(0, -this.config["backup.keep"])) {
        await this.target.remove(backup);
      }
    } catch (error) {
      this.logger.warn({ reason: messageOf(error) }, "old backups not deleted");
    }
  }

  /** Makes a backup in a process `pixelmill backup`, which also checks the backup by reading it. */
  async #backUp(place: string): Promise<void> {
    const data = resolve(this.config.data);
    const child = Bun.spawn(
      [...selfCommand, "backup", place, "--data", data, "--config", "/dev/null"],
      {
        cwd: "/",
        env: { ...ingestEnvironment(), ...this.target.environment },
        stdin: "ignore",
        stdout: "ignore",
        stderr: "pipe",
      },
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
      await this.target.removeLeftovers().catch((error) => {
        if (this.#isStopping) return;
        this.logger.warn({ reason: messageOf(error) }, "leftovers of backups not deleted");
      });
    }
  }
}
