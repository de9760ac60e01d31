import { rmSync } from "node:fs";
import { Counter } from "prom-client";
import { messageOf, StartError } from "../../errors.ts";
import { controlSocket } from "../../first-start/data-directory.ts";
import type { LiveSettings } from "../../settings/live-settings.ts";
import type { StartContext } from "../backend.ts";

/** JSON body of the control socket's answer to a request that failed. */
export interface ControlFault {
  message: string;
}

/**
 * Listens on a Unix socket in the data directory, for the commands `reload` and `config --running`.
 * Only the owner of the directory can connect. A SIGHUP also reloads the settings.
 */
export function openControlSocket(opening: StartContext): void {
  const { config, settings, logger, stack } = opening;
  settings.expectComplete();
  const reload = createReload(opening);
  const reloadAtSignal = () => void reload("SIGHUP");
  process.on("SIGHUP", reloadAtSignal);
  stack.defer(() => void process.off("SIGHUP", reloadAtSignal));
  const unix = controlSocket(config);
  try {
    // The data directory is locked, so the socket belongs to a server that was killed.
    rmSync(unix, { force: true });
    const server = Bun.serve({ unix, fetch: (request) => answer(request, { settings, reload }) });
    stack.defer(() => server.stop(true));
  } catch (error) {
    const reason = messageOf(error);
    logger.warn({ path: unix, reason }, "no control socket: only SIGHUP reloads the settings");
  }
}

/**
 * Returns a function that reloads the settings. It logs and counts the result, and returns it as a
 * response for the control socket. `by` names what requested the reload, for the log.
 */
function createReload({ settings, logger, metrics }: StartContext): (by: string) => Response {
  const reloads = new Counter({
    name: "pixelmill_settings_reloads_total",
    help: "Reloads of the settings by result: ok, or failed, after which nothing has changed",
    labelNames: ["result"],
    registers: [metrics],
  });
  for (const result of ["ok", "failed"]) reloads.inc({ result }, 0);
  return (by) => {
    try {
      const result = settings.reload();
      reloads.inc({ result: "ok" });
      logger.info({ by, ...result }, "settings reloaded");
      return Response.json(result);
    } catch (error) {
      reloads.inc({ result: "failed" });
      const message = messageOf(error);
      const context = error instanceof StartError ? { reason: message } : { err: error };
      logger.error({ by, ...context }, "settings not reloaded, nothing has changed");
      return Response.json({ message } satisfies ControlFault, { status: 422 });
    }
  };
}

function answer(
  { method, url }: Request,
  { settings, reload }: { settings: LiveSettings; reload(by: string): Response },
): Response {
  const { pathname } = new URL(url);
  if (method === "POST" && pathname === "/reload") return reload("command");
  if (method === "GET" && pathname === "/settings") return Response.json(settings.report());
  const message = "Expected POST /reload or GET /settings";
  return Response.json({ message } satisfies ControlFault, { status: 404 });
}
