import { listenerNames } from "../backend/reloadable/certificates.ts";
import { listenError } from "../errors.ts";
import type { Config } from "../settings/keys.ts";
import type { CheckResult } from "./check-result.ts";

/** Checks that the ports of all listeners are free, and that no two listeners share one. */
export function* checkPorts(config: Config): Generator<CheckResult> {
  const transformer = config["transformer.port"];
  const listeners: [name: string, host: string, port: number][] = [
    [listenerNames.data, config.host, config.port],
    [listenerNames.control, config["admin.host"], config["admin.port"]],
  ];
  if (transformer !== undefined) {
    listeners.push([listenerNames.transformer, config["transformer.host"], transformer]);
  }
  // Each port stays open until all are, since an address such as 0.0.0.0 covers that of another.
  using open = new DisposableStack();
  for (const [index, [subject, host, port]] of listeners.entries()) {
    const result = checkPort(subject, host, port, open);
    const other = listeners.slice(0, index).find((it) => port !== 0 && it[2] === port);
    yield result.state === "warns" && other !== undefined
      ? { state: "fails", subject, detail: `${host} port ${port} is that of the ${other[0]}` }
      : result;
  }
}

/**
 * Checks that a port is free by listening on it. The port stays open until the caller disposes of
 * `open`, so that a second check of the same port finds it taken.
 */
function checkPort(
  subject: string,
  host: string,
  port: number,
  open: DisposableStack,
): CheckResult {
  try {
    const listener = Bun.listen({ hostname: host, port, socket: { data() {} } });
    open.defer(() => listener.stop(true));
    return { state: "ok", subject, detail: `${host} port ${port} is free` };
  } catch (error) {
    const { message } = listenError({ host, port }, error);
    const isTaken = (error as { code?: unknown }).code === "EADDRINUSE";
    return { state: isTaken ? "warns" : "fails", subject, detail: message };
  }
}
