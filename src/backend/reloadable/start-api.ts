import type { Api } from "../../api/api.ts";
import type { ListeningSocket } from "../../http/listening-socket.ts";
import type { StartContext } from "../backend.ts";
import type { Certificates } from "./certificates.ts";

interface ControlPlaneSources {
  certificates: Pick<Certificates, "control">;
  /** Listening sockets that another process has passed on. */
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
