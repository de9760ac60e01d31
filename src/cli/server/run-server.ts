import { type App, openApp } from "../../app.ts";
import { takeOverSocket } from "../../first-start/data-directory.ts";
import type { Logger } from "../../observe/log.ts";
import { SHUTDOWN_MS_MAX } from "../../settings/limits.ts";
import type { LiveSettings } from "../../settings/live-settings.ts";
import { systemdEnvironment } from "../../settings/reader.ts";
import { closeSockets, type PlaneSockets } from "../../take-over/messages.ts";
import { offerSockets } from "../../take-over/offer.ts";
import { notifySystemd } from "../../take-over/systemd.ts";
import type { TakeOver } from "../../take-over/take-over.ts";
import { version } from "../../version.ts";
import { planeAddresses } from "./plane-addresses.ts";
import type { StopSignal } from "./stop-signal.ts";

interface RunOptions {
  settings: LiveSettings;
  demo: boolean;
  logger: Logger;
  stop: StopSignal;
  /** Listening sockets that systemd or the running server passed to this process. */
  sockets: PlaneSockets;
  /**
   * Whether systemd opened the sockets. If so, systemd keeps them open until the next server
   * starts.
   */
  isActivated: boolean;
  /** Running server that hands its sockets over to this server. `undefined` if there is none. */
  taken: TakeOver | undefined;
}

/**
 * Runs the server until a signal stops it, until it cannot continue, or until another server has
 * taken over its sockets. Resolves with the exit code.
 */
export async function runServer(options: RunOptions): Promise<number> {
  const { logger, stop, taken, isActivated } = options;
  if (taken !== undefined) {
    const isStopped = stop.first.then(() => "stopped" as const);
    if ((await Promise.race([taken.released(), isStopped])) === "stopped") return 0;
  }
  let { sockets, demo } = options;
  for (;;) {
    const app = await openApp(options.settings, { demo, logger, print, sockets });
    // Opening leaves about as much garbage as the server keeps of its catalog and ledgers.
    Bun.gc(true);
    announce(app, options);
    const held = app.sockets();
    const offer = offerSockets({
      path: takeOverSocket(options.settings.config),
      version,
      sockets: held,
      settings: planeAddresses(options.settings.config),
      refusal: isActivated
        ? "systemd holds them, so `systemctl restart` replaces the server without refusing requests"
        : undefined,
      logger,
    });
    const why = await Promise.race([
      stop.first.then((signal) => ({ signal })),
      app.broken.then((reason) => ({ reason })),
      offer.asked.then((successor) => ({ successor })),
    ]);
    offer.close();
    if (!("successor" in why)) {
      // Closed first, because the kernel queues connections as long as a duplicate is open.
      closeSockets(held);
      return await end(app, options, why);
    }
    const late = await closeInTime(app, "hand-over", stop);
    if (late !== undefined) {
      logger.error({ reason: late }, "handed over before everything in flight ended");
      return 1;
    }
    why.successor.release();
    // A signal ends this server as well, without waiting for the successor to be ready.
    if (await Promise.race([why.successor.isServing, stop.first.then(() => true)])) {
      closeSockets(held);
      logger.info("stopped, another server has taken over");
      return 0;
    }
    logger.error("the other server ended before it served; this one continues");
    sockets = held;
    demo = false;
  }
}

function announce(app: App, { logger, taken }: RunOptions): void {
  const { dataPlaneUrl, controlPlaneUrl, transformerUrl, startMs } = app;
  print(`data plane listening on ${dataPlaneUrl}`);
  print(`control plane listening on ${controlPlaneUrl}`);
  if (transformerUrl !== undefined) print(`transformer listening on ${transformerUrl}`);
  logger.info({ dataPlaneUrl, controlPlaneUrl, transformerUrl, startMs }, "serving");
  taken?.serving();
  notifySystemd("READY=1", systemdEnvironment().NOTIFY_SOCKET);
}

type End = { signal: string } | { reason: string };

async function end(app: App, { logger, stop, isActivated }: RunOptions, why: End): Promise<number> {
  if ("reason" in why) logger.error(why, "stopping, since the server cannot continue");
  else logger.info(why, "stopping");
  notifySystemd("STOPPING=1", systemdEnvironment().NOTIFY_SOCKET);
  const late = await closeInTime(app, isActivated ? "hand-over" : "stop", stop);
  if (late === undefined) logger.info("stopped");
  else logger.error({ reason: late }, "stopped before everything in flight ended");
  return late === undefined && "signal" in why ? 0 : 1;
}

/**
 * Closes the server, and resolves with `undefined` when it is closed. Resolves with `late` if the
 * time limit passes first, or with `second signal` if a second SIGTERM or SIGINT comes first.
 */
function closeInTime(app: App, how: "stop" | "hand-over", stop: StopSignal) {
  const late = Bun.sleep(SHUTDOWN_MS_MAX).then(() => "late" as const);
  return Promise.race([app.close(how), stop.second, late]);
}

function print(line: string) {
  process.stdout.write(`${line}\n`);
}
