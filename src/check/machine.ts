import { readFileSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { listenerNames } from "../backend/reloadable/certificates.ts";
import { listenError } from "../errors.ts";
import { usableMemory } from "../observe/memory.ts";
import type { Config } from "../settings/keys.ts";
import { HTTP_CONNECTIONS_MAX } from "../settings/limits.ts";
import { type CheckResult, okOrWarns } from "./check-result.ts";

/**
 * Number of file descriptors that a server needs besides those of HTTP connections to it: for files
 * of the event log and stores, pipes to sandbox processes, and connections to destinations.
 */
const OTHER_DESCRIPTORS = 6_000;
const MEMORY_BYTES_MIN = 1 << 30;
const MIB = 1 << 20;

export function* checkSystem(): Generator<CheckResult> {
  const isLinux = process.platform === "linux";
  const system = `${process.platform} ${release()} on ${process.arch}, ${availableParallelism()} CPUs`;
  yield isLinux
    ? { state: "ok", subject: "system", detail: system }
    : { state: "fails", subject: "system", detail: `${system}; pixelmill serves on Linux alone` };
  if (isLinux) {
    yield checkMemory();
    yield checkDescriptors();
  }
}

/**
 * Checks the memory that a server can use: the machine's memory, or the control group's limit if it
 * is lower.
 */
function checkMemory(): CheckResult {
  const bytes = usableMemory().totalBytes;
  const detail = `${Math.round(bytes / MIB)} MiB`;
  const advice = "user code in both languages needs 1 GiB";
  return okOrWarns(bytes >= MEMORY_BYTES_MIN, { subject: "memory", detail, advice });
}

function checkDescriptors(): CheckResult {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const [, soft = "0"] = limits.match(/^Max open files\s+(\d+)/m) ?? [];
  const wanted = HTTP_CONNECTIONS_MAX + OTHER_DESCRIPTORS;
  const detail = `${soft} allowed`;
  const advice = `${wanted} let all connections in (LimitNOFILE=, ulimit -n)`;
  return okOrWarns(Number(soft) >= wanted, { subject: "open files", detail, advice });
}

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
  // Each port stays open until all are open, since a listener on 0.0.0.0 also takes the port of any
  // other address of this machine.
  using open = new DisposableStack();
  for (const [index, [subject, host, port]] of listeners.entries()) {
    try {
      const listener = Bun.listen({ hostname: host, port, socket: { data() {} } });
      open.defer(() => listener.stop(true));
      yield { state: "ok", subject, detail: `${host} port ${port} is free` };
    } catch (error) {
      const { message } = listenError({ host, port }, error);
      const isTaken = (error as { code?: unknown }).code === "EADDRINUSE";
      const other = listeners.slice(0, index).find((it) => port !== 0 && it[2] === port);
      yield isTaken && other !== undefined
        ? { state: "fails", subject, detail: `${host} port ${port} is that of the ${other[0]}` }
        : { state: isTaken ? "warns" : "fails", subject, detail: message };
    }
  }
}
