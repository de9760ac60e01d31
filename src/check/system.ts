import { readFileSync } from "node:fs";
import { availableParallelism, release } from "node:os";
import { usableMemory } from "../observe/memory.ts";
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
