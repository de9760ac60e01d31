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
  for (const [index, [subject, host, port]] of listeners.entries()) {
    const before = listeners.slice(0, index);
    const other = before.find((it) => port !== 0 && it[1] === host && it[2] === port);
    const detail = `${host} port ${port} is that of the ${other?.[0]}`;
    yield other === undefined
      ? checkPort(subject, host, port)
      : { state: "fails", subject, detail };
  }
}

/** Checks that a port is free, by listening on it and closing it at once. */
function checkPort(subject: string, host: string, port: number): CheckResult {
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
    return { state: "ok", subject, detail: `${host} port ${port} is free` };
  } catch (error) {
    const { message } = listenError({ host, port }, error);
    const isTaken = (error as { code?: unknown }).code === "EADDRINUSE";
    return { state: isTaken ? "warns" : "fails", subject, detail: message };
  }
}
