import { readFileSync } from "node:fs";
import { availableParallelism, release, totalmem } from "node:os";
import { cannotListen } from "../errors.ts";
import { HTTP_CONNECTIONS_MAX } from "../settings/limits.ts";
import type { Finding } from "./finding.ts";

/**
 * Descriptors beside those of connections: segments, stores, guests' pipes, sockets to receivers.
 */
const OTHER_DESCRIPTORS = 6_000;
const MEMORY_BYTES_MIN = 1 << 30;
const MIB = 1 << 20;

export function* systemFindings(): Generator<Finding> {
  const isLinux = process.platform === "linux";
  const system = `${process.platform} ${release()} on ${process.arch}, ${availableParallelism()} CPUs`;
  yield isLinux
    ? { state: "ok", what: "system", found: system }
    : { state: "fails", what: "system", found: `${system}; pixelmill serves on Linux alone` };
  if (isLinux) {
    yield memory();
    yield descriptors();
  }
}

/** The memory that the machine has, or the control group allows. */
function memory(): Finding {
  const bytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  const found = `${Math.round(bytes / MIB)} MiB`;
  return bytes >= MEMORY_BYTES_MIN
    ? { state: "ok", what: "memory", found }
    : {
        state: "warns",
        what: "memory",
        found: `${found}; user code in both languages needs 1 GiB`,
      };
}

function descriptors(): Finding {
  const limits = readFileSync("/proc/self/limits", "utf8");
  const [, soft = "0"] = limits.match(/^Max open files\s+(\d+)/m) ?? [];
  const wanted = HTTP_CONNECTIONS_MAX + OTHER_DESCRIPTORS;
  return Number(soft) >= wanted
    ? { state: "ok", what: "open files", found: `${soft} allowed` }
    : {
        ...{ state: "warns", what: "open files" },
        found: `${soft} allowed; ${wanted} let all connections in (LimitNOFILE=, ulimit -n)`,
      };
}

/** Tries to listen, and stops at once. */
export async function listenFinding(what: string, host: string, port: number): Promise<Finding> {
  try {
    Bun.listen({ hostname: host, port, socket: { data() {} } }).stop(true);
    return { state: "ok", what, found: `${host} port ${port} is free` };
  } catch (error) {
    const { message } = cannotListen({ host, port }, error);
    const isTaken = (error as { code?: unknown }).code === "EADDRINUSE";
    return { state: isTaken ? "warns" : "fails", what, found: message };
  }
}
