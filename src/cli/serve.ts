import { defineCommand } from "citty";
import { StartError } from "../errors.ts";
import { createLogger, type Logger } from "../observe/log.ts";
import { SHUTDOWN_MS_MAX } from "../settings/limits.ts";
import { LiveSettings } from "../settings/live-settings.ts";
import { configFlags, readSettings } from "../settings/reader.ts";
import { nonDefaultSettings } from "../settings/report.ts";
import { version } from "../version.ts";

export const serve = defineCommand({
  meta: { name: "serve", description: "Serve the data plane and the control plane" },
  args: {
    ...configFlags,
    demo: {
      type: "boolean",
      description: "on first start, add a source, a transformation and a file destination",
    },
  },
  async run({ args }) {
    const settings = new LiveSettings(() => readSettings(args));
    const { config } = settings;
    const logger = createLogger(config["log.level"]);
    expectLinux();
    logger.info({ version, bun: Bun.version, settings: nonDefaultSettings(config) }, "starting");
    ignoreTerminalSignals(logger);
    const stop = stopSignal();
    // Imported when the command runs: the store unpacks a library, which --help has to do without.
    const { openApp } = await import("../app.ts");
    const app = await openApp(settings, { demo: args.demo === true, logger, print });
    print(`data plane listening on ${app.dataPlaneUrl}`);
    print(`control plane listening on ${app.controlPlaneUrl}`);
    const { dataPlaneUrl, controlPlaneUrl, transformerUrl } = app;
    if (transformerUrl !== undefined) print(`transformer listening on ${transformerUrl}`);
    logger.info({ dataPlaneUrl, controlPlaneUrl, transformerUrl }, "serving");

    const broken = app.broken.then((reason) => ({ reason }));
    const why = await Promise.race([stop.first.then((signal) => ({ signal })), broken]);
    if ("reason" in why) logger.error(why, "stopping, since the server cannot go on");
    else logger.info(why, "stopping");
    const late = Bun.sleep(SHUTDOWN_MS_MAX).then(() => "late" as const);
    const end = await Promise.race([app.close(), stop.second, late]);
    if (end === undefined) logger.info("stopped");
    else logger.error({ reason: end }, "stopped before everything in flight ended");
    return end === undefined && "signal" in why ? 0 : 1;
  },
});

/**
 * Throws on systems other than Linux, since only Linux can confine user code and write past the
 * page cache.
 */
function expectLinux() {
  if (process.platform === "linux") return;
  throw new StartError(
    `pixelmill serves on Linux alone, this is ${process.platform}; run it in a Linux container or virtual machine`,
  );
}

/**
 * Ignores SIGHUP and other signals that a closed terminal or a log rotation sends. By default they
 * would end the server. Once the server is open, SIGHUP makes it reload its settings.
 */
function ignoreTerminalSignals(logger: Logger) {
  process.on("SIGHUP", () => {});
  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) {
    process.on(signal, () => logger.info({ signal }, "signal ignored"));
  }
}

function print(line: string) {
  process.stdout.write(`${line}\n`);
}

/**
 * Listens for SIGTERM and SIGINT. The promise `first` resolves at the first of these signals, which
 * starts an orderly stop. `second` resolves at the next one, which ends the process at once.
 */
function stopSignal() {
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<"second signal">();
  let seen = false;
  const receive = (signal: string) => {
    if (seen) second.resolve("second signal");
    seen = true;
    first.resolve(signal);
  };
  process.on("SIGTERM", receive);
  process.on("SIGINT", receive);
  return { first: first.promise, second: second.promise };
}
