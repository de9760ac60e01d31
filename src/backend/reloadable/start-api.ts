import type { Api } from "../../api/api.ts";
import { limitedItems } from "../../catalog/management/item-limits.ts";
import type { ListeningSocket } from "../../http/listening-socket.ts";
import { type Backend, itemsMaxOf, type StartContext } from "../backend.ts";
import type { Certificates } from "./certificates.ts";

interface ControlPlaneSources {
  certificates: Pick<Certificates, "control">;
  /**
   * Listening socket that systemd or a previous server has passed on. If absent, a new one is
   * opened.
   */
  sockets: { "control-plane"?: ListeningSocket };
}

/** Starts the listener of the control plane, which can take new certificates while it runs. */
export async function startApi(
  api: Api,
  { config }: StartContext,
  { certificates, sockets }: ControlPlaneSources,
): Promise<string> {
  const url = await api.start({
    host: config["admin.host"],
    port: config["admin.port"],
    socket: sockets["control-plane"],
    tls: certificates.control.keys(),
  });
  certificates.control.onChange((keys) => api.setTls(keys));
  return url;
}

/**
 * Makes a reload of the settings apply the log level, the limits on the number of items per
 * workspace, and the rate limit of the API.
 */
export function addServerSettings(
  { settings, logger }: StartContext,
  { catalog }: Pick<Backend, "catalog">,
  api: Api,
): void {
  settings.add({
    keys: [
      "log.level",
      "admin.rate",
      ...limitedItems.map((items) => `workspace.${items}` as const),
    ],
    prepare: (next) => () => {
      logger.level = next["log.level"];
      catalog.setItemsMax(itemsMaxOf(next));
      api.setRequestsPerSecondMax(next["admin.rate"]);
    },
  });
}
