import { defineCommand } from "citty";
import { openApp } from "../app.ts";
import { configFlags, loadConfig } from "../config.ts";
import { SHUTDOWN_MS_MAX } from "../limits.ts";
import { createLogger } from "../observe/log.ts";

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
    const config = loadConfig(args);
    const logger = createLogger(config["log.level"]);
    const stop = stopSignal();
    const app = await openApp(config, { demo: args.demo === true, logger, print });
    print(`data plane listening on ${app.dataPlaneUrl}`);
    print(`control plane listening on ${app.controlPlaneUrl}`);

    logger.info({ signal: await stop.first }, "stopping");
    const late = Bun.sleep(SHUTDOWN_MS_MAX).then(() => "late" as const);
    const end = await Promise.race([app.close(), stop.second, late]);
    if (end !== undefined)
      logger.error({ reason: end }, "stopped before everything in flight ended");
    return end === undefined ? 0 : 1;
  },
});

function print(line: string) {
  process.stdout.write(`${line}\n`);
}

/** The first SIGTERM or SIGINT asks to stop, the second not to wait. */
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
