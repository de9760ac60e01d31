import { defineCommand } from "citty";
import { StartError } from "../errors.ts";
import {
  expectFittingDirectory,
  isDataLocked,
  prepareDataDirectory,
  takeOverSocket,
} from "../first-start/data-directory.ts";
import { createLogger, type Logger } from "../observe/log.ts";
import type { Config } from "../settings/keys.ts";
import { LiveSettings } from "../settings/live-settings.ts";
import { configFlags, readSettings, systemdEnvironment } from "../settings/reader.ts";
import { nonDefaultSettings } from "../settings/report.ts";
import { activatedSockets } from "../take-over/systemd.ts";
import { type TakeOver, takeOver } from "../take-over/take-over.ts";
import { version } from "../version.ts";
import { planeAddresses } from "./server/plane-addresses.ts";
import { stopSignal } from "./server/stop-signal.ts";
import { switchFlag } from "./terminal/flags.ts";

export const serve = defineCommand({
  meta: { name: "serve", description: "Serve the data plane and the control plane" },
  args: {
    ...configFlags,
    demo: switchFlag("on first start, add a source, a transformation and a file destination"),
    "take-over": switchFlag(
      "replace the running server of the same data directory without refusing requests",
    ),
  },
  async run({ args }) {
    const settings = new LiveSettings(() => readSettings(args));
    const { config } = settings;
    const logger = createLogger(config["log.level"]);
    expectLinux();
    logger.info({ version, bun: Bun.version, settings: nonDefaultSettings(config) }, "starting");
    ignoreTerminalSignals(logger);
    const stop = stopSignal();
    const activated = activatedSockets(systemdEnvironment());
    // Imported before the request to the running server, because an executable that cannot load its
    // code must not stop that server.
    const { runServer } = await import("./server/run-server.ts");
    const taken = args["take-over"] === true ? await takeSockets(config, logger) : undefined;
    const isActivated = Object.keys(activated).length > 0;
    const sockets = { ...taken?.sockets, ...activated };
    return await runServer({
      settings,
      logger,
      stop,
      sockets,
      isActivated,
      taken,
      demo: args.demo === true,
    });
  },
});

/**
 * Line that a starting server logs if another server runs on its data directory and does not hand
 * over its sockets. The starting server then waits until the other one ends.
 */
const NO_OFFER =
  "the running server does not hand its sockets over, such as one of an older version; stop it, this one waits for its end";

/**
 * Takes over the listening sockets of the server on the same data directory. Returns `undefined` if
 * no server hands over its sockets. Checks the data directory first, because the running server
 * must not stop if this one cannot start.
 */
async function takeSockets(config: Config, logger: Logger): Promise<TakeOver | undefined> {
  prepareDataDirectory(config);
  expectFittingDirectory(config);
  const settings = planeAddresses(config);
  const taken = await takeOver({ path: takeOverSocket(config), version, settings });
  if (taken !== undefined)
    logger.info({ from: taken.version }, "sockets taken over, waiting for the data directory");
  else if (isDataLocked(config)) logger.warn(NO_OFFER);
  else logger.info("no server to take over from");
  return taken;
}

/**
 * Throws `StartError` on systems other than Linux. There, pixelmill can neither confine user code
 * nor write files past the page cache.
 */
function expectLinux() {
  if (process.platform === "linux") return;
  throw new StartError(
    `pixelmill runs only on Linux, this is ${process.platform}; run it in a Linux container or virtual machine`,
  );
}

/**
 * Ignores signals that would end the process by default: SIGHUP, which a closed terminal sends, and
 * SIGUSR1 and SIGUSR2, which log rotation may send. Once the server is open, SIGHUP reloads its
 * settings.
 */
function ignoreTerminalSignals(logger: Logger) {
  process.on("SIGHUP", () => {});
  for (const signal of ["SIGUSR1", "SIGUSR2"] as const) {
    process.on(signal, () => logger.info({ signal }, "signal ignored"));
  }
}
